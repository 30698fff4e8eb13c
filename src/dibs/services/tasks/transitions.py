"""Transitions of a task: done, fail, release, retry, reopen, cancel, block, reassign.

Finishing is a gate: its transaction checks that the caller still holds the task, with the right token. A
late result of an earlier attempt is fenced and changes nothing.
"""

from __future__ import annotations

from dibs.core.claims.agents import check_human
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.rules import Handoff, Status, check_step
from dibs.core.text.names import check_agent_id, quote
from dibs.errors import BadInput, NotFound
from dibs.services.state.own_claims import own
from dibs.services.state.presence import arrive
from dibs.services.state.tasks import need
from dibs.services.tasks.attempts import (
    fail_with,
    live_claim,
    no_attempt,
    pattern_of,
    return_claims,
    return_if_dead,
    revoke_claims,
)
from dibs.services.tasks.texts import TaskWriter, moment, rewritten, unstarted
from dibs.startup.records import Record
from dibs.taskfile.document import MAX_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored

#: How many characters of a stack trace are stored.
MAX_TRACE = 20_000
#: The ledger entry of each verb after which no attempt is running.
_ENTRIES = {
    "release": (Kind.TASK_RETURNED, "{who} released {id}"),
    "retry": (Kind.TASK_REOPENED, "{who} made {id} available again"),
    "reopen": (Kind.TASK_REOPENED, "{who} reopened {id}"),
    "cancel": (Kind.TASK_CANCELLED, "{who} cancelled {id}"),
    "block": (Kind.TASK_BLOCKED, "{who} blocked {id}"),
    "reassign": (Kind.TASK_REASSIGNED, "{who} assigned {id} to {to}"),
}


class Result(Record):
    """What an agent reports about a task that it finished."""

    summary: str = ""
    made: tuple[str, ...] = ()
    handoff: Handoff | None = None
    metrics: Mapping[str, object] | None = None


def checked_result(
    store: Store,
    summary: str,
    artefacts: Sequence[str],
    handoff: Handoff | None,
    metrics: Mapping[str, object] | None,
) -> Result:
    """Check a result before anything is read from the store."""
    if handoff is not None:
        handoff = Handoff(
            check_agent_id(handoff.agent),
            check_text(handoff.title, "title"),
            _paths(store, handoff.artefacts),
            tuple(check_text(note, "note") for note in handoff.notes),
        )
    made = _paths(store, artefacts)
    return Result(check_text(summary, "summary"), made, handoff, metrics)


def _paths(store: Store, texts: Sequence[str]) -> tuple[str, ...]:
    for text in texts:
        pattern = parse(text, fold_case=store.fold_case)
        if pattern.scheme or any("\ud800" <= letter <= "\udfff" for letter in text):
            message = f"{quote(text)} is not a path that a task file can name"
            raise BadInput(message, code="PATH_ESCAPE", field="artefacts")
    return tuple(texts)


class Moves:
    """Transitions that a caller makes, inside one transaction."""

    def __init__(self, store: Store, rows: Rows, caller: Caller) -> None:
        self._store = store
        self._rows = rows
        self._caller = caller
        self._beat = arrive(rows, caller)
        self._writer = TaskWriter(rows, caller.id, self._beat.role)

    def done(self, id_: str, token: int, result: Result) -> Stored:
        """Finish a task."""
        stored = need(self._rows, id_)
        who = self._caller.id
        self._gate(stored, token, "done")
        said = f"{who} finished {stored.id}"
        after = self._with_result(stored.task, result)
        return_claims(self._store, self._rows, who, self._beat, stored)
        finished = self._writer.move(
            stored,
            "done",
            after,
            Kind.TASK_COMPLETED,
            f"{said}: {after.summary}" if after.summary else said,
            blocks={"result": {"metrics": dict(result.metrics)}} if result.metrics else None,
            details=_recorded(after),
            **no_attempt(doer=who),
        )
        if len(finished.text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            message = f"this result would make the task file larger than {MAX_BYTES} bytes"
            raise BadInput(message, code="LIMIT", field="result")
        if finished.task.handoff is None:
            return finished
        from dibs.services.tasks.handoffs import follow_up

        follow_up(self._writer, finished)
        return need(self._rows, id_)

    def _with_result(self, task: Task, result: Result) -> Task:
        return task._replace(
            status=Status.DONE,
            summary=result.summary or task.summary,
            made=result.made or task.made,
            handoff=result.handoff or task.handoff,
            completed=self._end(task),
            reason="",
        )

    def _end(self, task: Task) -> float:
        """Return the time at which a task ends, never before it began: clocks differ."""
        return max(moment(self._rows.now), task.started)

    def _gate(self, stored: Stored, token: int, verb: str) -> None:
        """Allow only the caller that holds the task or works on it by hand."""
        task, caller = stored.task, self._caller
        by_hand = not stored.token and not token and self._nobody_holds(stored)
        if by_hand and (caller.human or task.agent in {caller.id, caller.role, self._beat.role}):
            return
        try:
            own(self._rows, caller.id, [pattern_of(self._store, stored.id)], token)
        except NotFound:
            if task.status != Status.IN_PROGRESS:
                check_step(task, verb, Status.ERROR if verb == "fail" else Status.DONE)
            raise

    def _nobody_holds(self, stored: Stored) -> bool:
        lost = self._rows.lost_at(self._caller.id, pattern_of(self._store, stored.id))
        return lost is None and live_claim(self._store, self._rows, stored.id) is None

    def fail(self, id_: str, token: int, message: str, trace: str) -> Stored:
        """Set a task to ``error``."""
        if not message.strip():
            raise BadInput(
                "--message is empty: say what went wrong", code="REASON", field="message"
            )
        words, trace = check_text(message, "message"), _masked(trace)
        stored = need(self._rows, id_)
        self._gate(stored, token, "fail")
        return_claims(self._store, self._rows, self._caller.id, self._beat, stored)
        return fail_with(self._writer, stored, words, verb="fail", trace=trace)

    def release(self, id_: str, token: int) -> Stored:
        """Release a task; this does not count as a failure."""
        stored = need(self._rows, id_)
        self._gate(stored, token, "release")
        return_claims(self._store, self._rows, self._caller.id, self._beat, stored)
        return self._write("release", stored, self._back(stored))

    def retry(self, id_: str, reason: str) -> Stored:
        """Make a failed task available again."""
        stored = need(self._rows, id_)
        words = check_text(reason, "reason")
        details = {"error": stored.task.error, "retries": stored.task.retries}
        after = self._back(stored)._replace(retries=stored.task.retries + 1)
        return self._write("retry", stored, after, words, details, forgiven=stored.failures)

    def reopen(self, id_: str, reason: str) -> Stored:
        """Reopen a task that is finished or blocked."""
        stored = need(self._rows, id_)
        words = check_text(reason, "reason")
        after = self._back(stored)._replace(reason=words)
        details = _recorded(stored.task)
        return self._write("reopen", stored, after, words, details, doer="", follower="")

    def cancel(self, id_: str, reason: str) -> Stored:
        """Cancel a task."""
        words = check_text(reason, "reason")
        stored = self._freed(id_, words or "the task was cancelled")
        end = self._end(stored.task)
        after = stored.task._replace(
            status=Status.CANCELLED, completed=end, reason=words, error=""
        )  # fmt: skip
        return self._write("cancel", stored, after, words, {"reason": words})

    def block(self, id_: str, reason: str) -> Stored:
        """Block a task."""
        if not reason.strip():
            raise BadInput("--reason is empty: say why", code="REASON", field="reason")
        words = check_text(reason, "reason")
        stored = self._freed(id_, words)
        after = self._back(stored)._replace(status=Status.BLOCKED, reason=words)
        return self._write("block", stored, after, words, {"reason": words})

    def reassign(self, id_: str, to: str, reason: str) -> Stored:
        """Assign a task, or the follow-up of a finished one, to another agent or role."""
        if to:
            check_agent_id(to)
        words = check_text(reason, "reason")
        stored = need(self._rows, id_)
        task = stored.task
        if task.status == Status.DONE and task.handoff is not None and not stored.follower and to:
            new = rewritten(stored, task._replace(handoff=task.handoff._replace(agent=to)))
            said = _because(f"{self._caller.id} handed the follow-up of {stored.id} to {to}", words)
            details = {"next_agent": to}
            return self._writer.write(stored, new, Kind.TASK_REASSIGNED, said, details)
        stored = self._freed(id_, words or "the task was reassigned")
        after = unstarted(task, to, self._rows.now)
        if task.status == Status.BLOCKED:
            after = after._replace(status=Status.BLOCKED, reason=task.reason)
        return self._write("reassign", stored, after, words, {"reason": words}, asked=to)

    def _back(self, stored: Stored) -> Task:
        return unstarted(stored.task, stored.asked, self._rows.now)

    def _write(
        self,
        verb: str,
        stored: Stored,
        after: Task,
        words: str = "",
        details: Mapping[str, object] | None = None,
        **changes: object,
    ) -> Stored:
        """Write a transition after which no attempt is running, with the ledger entry of its verb."""
        kind, text = _ENTRIES[verb]
        to = after.agent or "anyone"
        said = _because(text.format(who=self._caller.id, id=stored.id, to=to), words)
        return self._writer.move(
            stored, verb, after, kind, said, details=details, **no_attempt(**changes)
        )  # fmt: skip

    def _freed(self, id_: str, why: str) -> Stored:
        """Return a task that nobody holds; a human may revoke another agent's claim."""
        rows, caller = self._rows, self._caller
        need(rows, id_)
        return_if_dead(self._store, rows, id_)
        stored = need(rows, id_)
        claim = live_claim(self._store, rows, stored.id)
        if claim is None or not stored.token:
            return stored
        if claim.agent == caller.id:
            return_claims(self._store, rows, caller.id, self._beat, stored)
        elif caller.human:
            revoke_claims(self._store, rows, stored._replace(holder=claim.agent), caller.id, why)
        else:
            what = f"{claim.agent} holds {quote(stored.id)}: only a human can take it away"
            check_human(caller, what, field="task", hint=f"request it: dibs ask task:{stored.id}")
        return stored


def _recorded(task: Task) -> dict[str, object]:
    """Return what the ledger records about a result."""
    details: dict[str, object] = {}
    if task.summary:
        details["note"] = task.summary
    if task.made:
        details["artefacts"] = list(task.made[:20])
    if task.handoff is not None:
        details["next_agent"] = task.handoff.agent
    return details


def _because(said: str, words: str) -> str:
    return f"{said}: {words}" if words else said


def _masked(trace: str) -> str:
    from dibs.core.text.secrets import storable

    return storable(trace[:MAX_TRACE].replace("\0", "\\0"))  # output of a program
