"""A task that an agent is working on, as a context manager."""

from __future__ import annotations

from dibs.core.tasks.rules import Handoff
from dibs.core.text.arguments import check_string, check_strings
from dibs.errors import BadInput, Fenced, NotFound
from dibs.services.tasks.values import QUEUE, TakenTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from dibs.api.client import Dibs
    from dibs.core.tasks.rules import Task
    from dibs.services.state.tasks import Stored


class Attempt:
    """A task that was taken. ``done``, ``fail``, or ``release`` ends it; a late call raises ``Fenced``.

    Inside the block, a thread sends heartbeats. Leaving it without a result releases the task; an exception
    becomes the task's error.
    """

    def __init__(self, dibs: Dibs, taken: TakenTask) -> None:
        self._dibs = dibs
        self._keeper = dibs.keeper(taken.granted.claims)
        self._ended = False
        self.stored: Stored = taken.stored
        self.token: int = taken.granted.token

    @property
    def task(self) -> Task:
        """The content of the task's file, parsed."""
        return self.stored.task

    @property
    def text(self) -> str:
        """The content of the task's file when it was taken."""
        return self.stored.text

    def __enter__(self) -> Attempt:
        self._keeper.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keeper.stop()
        if self._ended:
            return
        try:
            if isinstance(error, Exception):
                self.fail(f"{type(error).__name__}: {error}")
            else:
                self.release()
        except Fenced:
            if error is None:
                raise

    def done(
        self,
        summary: str = "",
        *,
        artefacts: Sequence[str] = (),
        handoff: Handoff | None = None,
    ) -> Stored:
        """Finish the task."""
        summary = check_string(summary, "summary")
        artefacts = check_strings(artefacts, "artefacts")
        if handoff is not None:
            _check_handoff(handoff)
        return self._end("done", summary=summary, artefacts=artefacts, handoff=handoff)

    def fail(self, message: str) -> Stored:
        """Mark the task as failed; it can be retried."""
        return self._end("fail", message=check_string(message, "message"))

    def release(self) -> Stored:
        """Release the task."""
        return self._end("release")

    def _end(self, verb: str, **said: Any) -> Stored:
        project, caller, id_ = self._dibs.project, self._dibs.caller, self.stored.id
        if verb == "fail" and self.stored.place == QUEUE:
            verb, said = "release", {}  # the shell agents' queue has no failed tasks
        stored: Stored = getattr(project.tasks, verb)(caller, id_, token=self.token, **said)
        self._ended = True
        return stored


def _check_handoff(handoff: object) -> None:
    if not isinstance(handoff, Handoff):
        given = type(handoff).__name__
        raise BadInput(f"handoff must be a Handoff, not {given}", field="handoff")
    check_string(handoff.agent, "handoff.agent")
    check_string(handoff.title, "handoff.title")
    check_strings(handoff.artefacts, "handoff.artefacts")
    check_strings(handoff.notes, "handoff.notes")


def take(
    dibs: Dibs,
    *,
    roles: Sequence[str],
    claim: bool,
    ttl: object,
    wait: object,
    reason: str,
    request_id: str,
) -> Attempt | None:
    """Take the next task for an agent; None if no task is available."""
    try:
        answer = dibs.project.tasks.take(
            dibs.caller, roles=roles, claim=claim, ttl=ttl, wait=wait, reason=reason,
            request_id=request_id,
        )  # fmt: skip
    except NotFound as empty:
        if empty.code != "QUEUE_EMPTY":
            raise
        return None
    return Attempt(dibs, answer) if isinstance(answer, TakenTask) else None
