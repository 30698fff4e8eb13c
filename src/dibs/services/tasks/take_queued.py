"""Take a task from the plain queue or the lock-file queue, in the transaction that ``Taking`` runs."""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE, Conflict, Denied, Granted, Request
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.claims.acquire import attempt
from dibs.services.state.presence import arrive, offer_work
from dibs.services.state.tasks import need
from dibs.services.tasks.plain_queue import (
    BLOCKED,
    BROKEN,
    FREE,
    HELD,
    NAMESAKE,
    SCRIPT,
    QueuedFile,
    QueueFiles,
)
from dibs.services.tasks.values import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.attempts import TakeRequest
    from dibs.services.tasks.plain_queue import LockedTasks
    from dibs.services.tasks.values import TakenTask


class QueueTaking:
    """One caller's request for a queued task; ``locked`` reads the lock-file queue."""

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

    def _queued(self, rows: Rows) -> QueueFiles:
        return QueueFiles(rows, fold_case=self._store.fold_case, locked=self._locked)

    def _from_queue(self, rows: Rows, wish: TakeRequest, ahead: int) -> Granted | list[QueuedFile]:
        """Grant the first unclaimed file that is not reserved for one of the waiters ``ahead``."""
        files = self._queued(rows)
        files.expire(wish.agent)
        # A lock without a task, as the document's script leaves one in an empty queue, is not worth a wait.
        queued = [file for file in files.pending(wish.agent) if file.file]
        free = [file for file in queued if file.state == FREE]
        if len(free) <= ahead:
            return queued
        granted = self._claim_queued(rows, wish, free[ahead].name)
        assert isinstance(granted, Granted)
        return granted

    def _claim_queued(self, rows: Rows, wish: TakeRequest, name: str) -> Granted | Denied:
        """Claim a queued task, and note the lock file that it needs."""
        beat = rows.beat(wish.agent)
        assert beat is not None
        files = self._queued(rows)
        request = Request(wish.agent, (files.pattern(name),), EXCLUSIVE, wish.ttl, wish.reason)
        hold = self._store.config.max_hold
        granted = attempt(rows, request, beat, max_hold=hold, waiting=None)
        if isinstance(granted, Granted) and files.has_lock_file(name):
            from dibs.services.state.lock_notes import note_lock

            note_lock(rows, granted, name)
        assert isinstance(granted, Granted | Denied)
        return granted

    def _unfinished_take(self, rows: Rows, wish: TakeRequest) -> Granted | None:
        """Return the task that an interrupted take of the caller claimed in the lock-file queue."""
        if self._locked is None:
            return None
        from dibs.services.state.lock_notes import interrupted

        files = self._queued(rows)
        name = interrupted(rows, wish.agent, files.pattern)
        if not files.has_lock_file(name):
            return None
        granted = self._claim_queued(rows, wish, name)
        return granted if isinstance(granted, Granted) else None

    def _begin_queued(self, rows: Rows, wish: TakeRequest, name: str) -> Granted | Denied:
        arrive(rows, self._caller)
        offer_work(rows, self._caller.id)
        files = self._queued(rows)
        found = next((f for f in files.pending(wish.agent) if f.name == name), None)
        if found is None or not files.has_lock_file(name):
            need(rows, name)
            raise AssertionError(name)  # `need` raised NO_TASK
        if found.state in {BLOCKED, BROKEN}:
            raise BadInput(
                f"task {quote(name)} {'; '.join(found.why[:5])}",
                code="TASK_DEPENDENCY" if found.state == BLOCKED else "YAML_SYNTAX",
                field="task",
                hint="take one that is ready: dibs task take",
            )
        pattern = files.pattern(name)
        scripts = found.reason == SCRIPT and found.holder == wish.agent
        if found.state == HELD and not scripts and not rows.is_anything_at(pattern):
            return Denied((_locked_by(found, pattern.text, wish.agent),))
        return self._claim_queued(rows, wish, name)


def _locked_by(file: QueuedFile, pattern: str, agent: str) -> Conflict:
    reason = NAMESAKE if file.holder == agent else file.reason
    return Conflict(
        pattern, pattern, file.holder, EXCLUSIVE, reason, file.name, file.since, file.expires_in,
        pattern,
    )  # fmt: skip
