"""Take a task from the lock-file queue, in the transaction that ``Taking`` runs."""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE, Conflict, Denied, Granted, Request
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.claims.acquire import attempt
from dibs.services.state.lock_notes import interrupted, note_lock
from dibs.services.state.presence import arrive, offer_work
from dibs.services.state.tasks import need
from dibs.services.tasks.lock_queue.view import (
    BLOCKED,
    BROKEN,
    FREE,
    HELD,
    NAMESAKE,
    SCRIPT,
    QueuedFile,
    QueueView,
)
from dibs.services.tasks.values import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.attempts import TakeRequest
    from dibs.services.tasks.lock_queue.view import LockedTasks
    from dibs.services.tasks.values import TakenTask


class QueueTaking:
    """One caller's request for a task of the lock-file queue, which ``locked`` reads."""

    def __init__(
        self, store: Store, caller: Caller, locked: Callable[[], LockedTasks | None] | None
    ) -> None:
        self._store = store
        self._caller = caller
        self._read_locked = locked
        self._locked: LockedTasks | None = None

    def is_locked(self, taken: TakenTask) -> bool:
        """Return whether a taken task needs a lock file on the branch."""
        return (
            self._locked is not None
            and taken.stored.place == QUEUE
            and taken.stored.id in self._locked.snapshot.tasks
        )

    def _refresh(self) -> None:
        """Read the lock-file queue, if there is one, before the transaction that chooses a task."""
        if self._read_locked is not None:
            self._locked = self._read_locked()

    def _queue(self, rows: Rows) -> QueueView | None:
        return QueueView(rows, self._locked) if self._locked is not None else None

    def _from_queue(self, rows: Rows, wish: TakeRequest, ahead: int) -> Granted | list[QueuedFile]:
        """Grant the first unclaimed file that is not reserved for one of the waiters ``ahead``."""
        queue = self._queue(rows)
        if queue is None:
            return []
        # A lock without a task, as the document's script leaves one in an empty queue, is not worth a wait.
        queued = [file for file in queue.pending(wish.agent) if file.file]
        free = [file for file in queued if file.state == FREE]
        if len(free) <= ahead:
            return queued
        granted = self._claim_queued(rows, wish, queue, free[ahead].name)
        assert isinstance(granted, Granted)
        return granted

    def _claim_queued(
        self, rows: Rows, wish: TakeRequest, queue: QueueView, name: str
    ) -> Granted | Denied:
        """Claim a queued task, and note the lock file that it needs."""
        beat = rows.beat(wish.agent)
        assert beat is not None
        request = Request(wish.agent, (queue.pattern(name),), EXCLUSIVE, wish.ttl, wish.reason)
        hold = self._store.config.max_hold
        granted = attempt(rows, request, beat, max_hold=hold, waiting=None)
        if isinstance(granted, Granted):
            note_lock(rows, granted, name)
        assert isinstance(granted, Granted | Denied)
        return granted

    def _unfinished_take(self, rows: Rows, wish: TakeRequest) -> Granted | None:
        """Return the task that an interrupted take of the caller claimed."""
        queue = self._queue(rows)
        if queue is None:
            return None
        name = interrupted(rows, wish.agent, queue.pattern)
        if not queue.is_pending(name):
            return None
        granted = self._claim_queued(rows, wish, queue, name)
        return granted if isinstance(granted, Granted) else None

    def _begin_queued(self, rows: Rows, wish: TakeRequest, name: str) -> Granted | Denied:
        arrive(rows, self._caller)
        offer_work(rows, self._caller.id)
        queue = self._queue(rows)
        listed = queue.pending(wish.agent) if queue is not None else ()
        found = next((file for file in listed if file.name == name), None)
        if found is None or queue is None or not queue.is_pending(name):
            need(rows, name)
            raise AssertionError(name)  # `need` raised NO_TASK
        if found.state in {BLOCKED, BROKEN}:
            raise BadInput(
                f"task {quote(name)} {'; '.join(found.why[:5])}",
                code="TASK_DEPENDENCY" if found.state == BLOCKED else "YAML_SYNTAX",
                field="task",
                hint="take one that is ready: dibs task take",
            )
        pattern = queue.pattern(name)
        scripts = found.reason == SCRIPT and found.holder == wish.agent
        if found.state == HELD and not scripts and not rows.is_anything_at(pattern):
            return Denied((_locked_by(found, pattern.text, wish.agent),))
        return self._claim_queued(rows, wish, queue, name)


def _locked_by(file: QueuedFile, pattern: str, agent: str) -> Conflict:
    reason = NAMESAKE if file.holder == agent else file.reason
    return Conflict(
        pattern, pattern, file.holder, EXCLUSIVE, reason, file.name, file.since, file.expires_in,
        pattern,
    )  # fmt: skip
