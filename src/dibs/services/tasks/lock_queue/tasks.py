"""Take and end tasks of the lock-file queue: the store's claim and the branch's lock, step by step.

A take claims ``task:NAME`` and notes a nonce in one transaction, pushes the lock file with that nonce, then
marks the note as answered. A process that dies in between leaves a note whose process is dead: the agent's
next take finishes the job. A lock whose note has no live claim can be replaced at once.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.tasks.lock_files import DONE, FAILED
from dibs.core.tasks.names import task_pattern
from dibs.core.text.names import printable, quote
from dibs.errors import DibsError, Fenced, NotFound
from dibs.services.claims.holdings import give_back
from dibs.services.state.lock_notes import (
    LockNote,
    change_lock_note,
    drop_lock_note,
    lock_note,
    lock_notes,
    noted_claim,
)
from dibs.services.state.own_claims import own, own_at
from dibs.services.state.presence import arrive
from dibs.services.tasks.lock_queue.changes import (
    claim_change,
    end_change,
    expire_change,
    lock_path,
    retry_change,
)
from dibs.services.tasks.lock_queue.view import DONE as ENDED
from dibs.services.tasks.lock_queue.view import FREE, LockedTasks, QueuedFile, QueueView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Granted
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.lock_queue.changes import Change
    from dibs.services.tasks.lock_queue.service import LockQueue
    from dibs.services.tasks.lock_queue.snapshot import Lock, QueueSnapshot


class LockTasks:
    """The operations on the tasks of a lock-file queue for agents of one store."""

    def __init__(self, store: Store, queue: LockQueue) -> None:
        self.store = store
        self.queue = queue

    def pattern(self, name: str) -> Pattern:
        """Return the pattern of a claim on the task."""
        return task_pattern(name, fold_case=self.store.fold_case)

    def view(self) -> LockedTasks | None:
        """Return the queue for readers; None if there is none."""
        found = self.queue.look()
        return None if found is None else self._at(found)

    def current(self) -> LockedTasks | None:
        """Return the queue as it is on the branch now; raise if the remote does not answer."""
        if not self.queue.exists():
            return None
        found = self.queue.read()
        return self._at(found) if found.exists else None

    def _at(self, found: QueueSnapshot) -> LockedTasks:
        return LockedTasks(found, self.queue.clock(), self.store.fold_case)

    def all(self) -> list[QueuedFile]:
        """Return the tasks in their turn, then the finished ones."""
        locked = self.view()
        if locked is None:
            return []
        return self.store.look(lambda rows: QueueView(rows, locked).all())

    def knows(self, name: str) -> bool:
        """Return whether the queue has a task or a lock with this name, finished or not."""
        found = self.queue.look()
        return found is not None and found.has(name)

    # -- taking, in three steps

    def secure(self, caller: Caller, name: str, granted: Granted, request_id: str = "") -> bool:
        """Push the lock of a claimed task; if another agent was first, release the claim and return False."""
        note, alive = self.store.look(lambda rows: (lock_note(rows, name), self._alive(rows)))
        if note is None or note.token != granted.token:
            return True  # a repeated request: it was answered before
        lock = self.queue.new_lock(caller.id, note.nonce)
        lost = False

        def plan(found: QueueSnapshot) -> Sequence[Change]:
            nonlocal lost
            there = found.locks.get(name)
            if there is not None and there.file.nonce == note.nonce:
                return ()
            now = self.queue.clock()
            old = [lock for lock in found.locks.values() if lock.until <= now]
            over = {lock.name: lock for lock in old if lock.file.nonce not in alive}
            if there is not None and there.file.nonce and there.file.nonce == note.replaces:
                over[name] = there
            if there is not None and there.is_scripts(caller.id):
                over[name] = there  # a script took it in the caller's name
            lost = name not in found.tasks or (there is not None and name not in over)
            if lost:
                return ()
            kept = lock_path(name) if there is not None and there.is_scripts(caller.id) else ""
            gone = [expire_change(lock) for lock in over.values() if lock.path != kept]
            return [*gone, claim_change(name, lock)]

        try:
            self.queue.write(plan)
        except DibsError:
            self._give_up(caller, note, request_id, keep=True)
            raise
        if lost:
            self._give_up(caller, note, request_id, keep=False)
            return False
        if note.process:
            answered = note._replace(host="", process=0, until=lock.expires)
            return self.store.apply(lambda rows: change_lock_note(rows, answered))
        return True

    def _alive(self, rows: Rows) -> set[str]:
        """Return the nonces of locks whose owners in this store are alive, even if a lock is overdue.

        They are read before the first push: between reading the branch and moving it, every moment counts.
        """
        notes = lock_notes(rows)
        return {n.nonce for n in notes if noted_claim(rows, n, self.pattern(n.task)) is not None}

    def _give_up(self, caller: Caller, note: LockNote, request_id: str, *, keep: bool) -> None:
        """Release the claim of a task that the caller did not get; ``keep`` its note if the push may land."""
        from dibs.services.state.idempotency import forget

        def step(rows: Rows) -> None:
            beat = arrive(rows, caller)
            mine = noted_claim(rows, note, self.pattern(note.task))
            if mine is not None:
                give_back(rows, caller.id, beat, [mine])
            if request_id:
                forget(rows, caller.id, request_id)
            if not keep:
                drop_lock_note(rows, note.task, note.agent, note.nonce)

        self.store.apply(step)

    # -- ending

    def done(self, caller: Caller, name: str, *, token: int = 0, note: str = "") -> QueuedFile:
        """Finish a task: one commit deletes its lock and moves its file to ``tasks/done``."""
        words = check_text(note, "note") if note else ""
        found = self._end(caller, name, token, "done", DONE, words)
        summary = f"{caller.id} finished {name}" + (f": {words}" if words else "")
        details = {"task": name, "note": words} if words else {"task": name}
        self._settle(caller, name, Kind.TASK_COMPLETED, summary, details)
        return QueuedFile(name, found.done.get(name, ""), ENDED, caller.id, words)

    def release(self, caller: Caller, name: str, *, token: int = 0) -> QueuedFile:
        """Release a task: one commit deletes its lock."""
        found = self._end(caller, name, token, "release", "", "")
        self._settle(caller, name)
        task = found.tasks.get(name)
        return QueuedFile(name, task.file if task else "", FREE)

    def fail(self, caller: Caller, name: str, *, message: str, token: int = 0) -> QueuedFile:
        """Mark a task as failed: one commit deletes its lock and moves its file to ``tasks/failed``."""
        words = check_text(message, "message")
        found = self._end(caller, name, token, "fail", FAILED, words)
        summary = f"{caller.id} failed {name}: {words}"
        self._settle(caller, name, Kind.TASK_FAILED, summary, {"task": name, "error": words})
        return QueuedFile(name, found.failed.get(name, ""), "failed", "", words)

    def _end(
        self, caller: Caller, name: str, token: int, verb: str, folder: str, words: str
    ) -> QueueSnapshot:
        """Push the commit that ends an attempt; refuse if the lock on the branch is not the caller's."""
        held = self.store.look(lambda rows: self._holding(rows, caller.id, name, token))

        def plan(found: QueueSnapshot) -> Sequence[Change]:
            lock = found.locks.get(name)
            if lock is None and name not in found.tasks and held is not None:
                return ()  # an interrupted call did it, or there is nothing to end on the branch
            if lock is None or not _is_callers(lock, caller.id, held):
                raise self._lost(caller, name, lock, held, found)
            return [end_change(found, lock, verb, caller.id, folder, words)]

        return self.queue.write(plan)

    def _holding(self, rows: Rows, agent: str, name: str, token: int) -> LockNote | None:
        """Return the note of the caller's own lock, which counts even if its claim in the store is gone."""
        note = lock_note(rows, name)
        if note is None or note.agent != agent:
            return None
        if own_at(rows, agent, self.pattern(name)):
            own(rows, agent, [self.pattern(name)], token)
        elif token and token != note.token:
            return None
        return note

    def _lost(
        self,
        caller: Caller,
        name: str,
        lock: Lock | None,
        held: LockNote | None,
        found: QueueSnapshot,
    ) -> DibsError:
        """Return why a caller cannot end a task; its claim ends, because another agent may have the task."""
        if name not in found.tasks and lock is None:
            state = "done" if name in found.done else "failed" if name in found.failed else ""
            if not state:
                return NotFound(
                    f"no task {quote(name)}", code="NO_TASK", hint="dibs task ls lists all"
                )
            return NotFound(f"task {quote(name)} is already {state}", code="NOT_HELD")
        if held is not None:
            self._give_up(caller, held, "", keep=False)
        if lock is None and held is None:
            return NotFound(
                f"you ({caller.id}) do not hold task {quote(name)}",
                code="NOT_HELD",
                hint=f"take it first: dibs task start {name}",
            )
        message, hint = _whose(caller, name, lock, held, self.queue.place)
        return Fenced(message, hint=hint)

    def _settle(
        self,
        caller: Caller,
        name: str,
        kind: str = "",
        summary: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Release the claim in the store after the branch has changed."""

        def step(rows: Rows) -> None:
            beat = arrive(rows, caller)
            mine = own_at(rows, caller.id, self.pattern(name))
            if kind:
                rows.emit(caller.id, beat.role, kind, summary, **(details or {}))
            give_back(rows, caller.id, beat, mine)
            drop_lock_note(rows, name, caller.id)

        self.store.apply(step)

    def retry(self, caller: Caller, name: str, *, reason: str = "") -> QueuedFile:
        """Make a failed task available again: one commit moves its file back."""
        words = check_text(reason, "reason") if reason else ""

        def plan(found: QueueSnapshot) -> Sequence[Change]:
            if name in found.tasks:
                return ()
            return [retry_change(found, name, caller.id, words)]

        found = self.queue.write(plan)
        return QueuedFile(name, found.tasks[name].file, FREE)


def _whose(
    caller: Caller, name: str, lock: Lock | None, held: LockNote | None, place: str
) -> tuple[str, str]:
    """Return who holds a task in place of the caller, and what the caller can do."""
    task = f"task {quote(name)}:"
    gone = " your lock file is gone from the branch:" if held else ""
    if lock is None:
        return f"{task}{gone} nobody holds it now", f"take it again: dibs task start {name}"
    if lock.file.agent != caller.id:
        rest = "" if held else f", not you ({caller.id})"
        return f"{task}{gone} {lock.file.agent} holds it now{rest}", "stop working on it"
    return (
        f"{task}{gone} another clone's agent of your name ({caller.id}) holds it now",
        f"if that clone is gone, delete {quote(lock.path)} on {printable(place)}",
    )


def _is_callers(lock: Lock, agent: str, held: LockNote | None) -> bool:
    """Return whether a lock is the caller's: the one that it pushed, or a script's in its name."""
    return lock.is_scripts(agent) or (held is not None and lock.file.nonce == held.nonce)
