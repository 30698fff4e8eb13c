"""The plain queue of shell agents: files that are tasks, protected by claims.

A queued file is a row, and another row once it is done. On a branch shared with scripts these rows are files
that anyone can add and remove, so the board has no copy of them. The claim ``task:<name>`` excludes other
agents, and ``Taking`` hands the files out after the board's tasks, in order of name.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Request, check_text
from dibs.core.tasks.names import ENDINGS, name_of, pack, task_of_file, task_pattern, unpack
from dibs.core.text.names import quote
from dibs.errors import BadInput, NotFound
from dibs.services.claims.acquire import SHOWN, survey
from dibs.services.claims.holdings import Holdings, give_back
from dibs.services.state.idempotency import once
from dibs.services.state.lock_notes import lock_note, noted_claim
from dibs.services.state.own_claims import own
from dibs.services.state.presence import arrive, expire
from dibs.services.state.task_index import finish_queue_file, put_queue_file, queue_files
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.lock_queue.snapshot import Lock, QueueSnapshot
    from dibs.services.tasks.lock_queue.tasks import LockTasks

FREE, HELD, DONE = "free", "held", "done"
#: States of a task in the lock-file queue that nobody can take.
BLOCKED, BROKEN, FAILED = "blocked", "broken", "failed"
#: The reason of a lock file that a script wrote.
SCRIPT = "a script's lock file"
#: The reason of a lock file whose owner has the reader's name, but another store.
NAMESAKE = "an agent of the same name in another clone"
#: The largest file that can become a task, in bytes.
MAX_FILE = 256 * 1024


class QueuedFile(Record):
    """A queued file as a reader sees it."""

    name: str
    file: str
    state: str
    #: The agent that holds it; empty if it is unclaimed.
    holder: str = ""
    reason: str = ""
    since: float = 0.0
    expires_in: float = 0.0
    #: What it waits for, or why its file cannot be read.
    why: tuple[str, ...] = ()
    title: str = ""
    priority: str = ""


class LockedTasks(Record):
    """The lock-file queue at one moment."""

    snapshot: QueueSnapshot
    #: Seconds since 1970.
    now: float

    def is_over(self, rows: Rows, lock: Lock, pattern_of: Callable[[str], Pattern]) -> bool:
        """Return whether a lock no longer counts: it expired, or its owner in this store has no claim."""
        if lock.until <= self.now:
            return True
        note = lock_note(rows, lock.name) if lock.file.nonce else None
        if note is None or lock.file.nonce not in {note.nonce, note.replaces}:
            return False
        return (
            lock.file.nonce == note.replaces
            or noted_claim(rows, note, pattern_of(lock.name)) is None
        )

    def shown(self, lock: Lock, file: str) -> QueuedFile:
        """Return a task that a lock file holds."""
        reason = "" if lock.file.nonce else SCRIPT
        left = max(lock.until - self.now, 0.0)
        return QueuedFile(lock.name, file, HELD, lock.file.agent, reason, lock.file.claimed, left)


class QueueFiles:
    """The queued files in one transaction; rows with an invalid file name are ignored."""

    def __init__(self, rows: Rows, *, fold_case: bool, locked: LockedTasks | None = None) -> None:
        self._rows = rows
        self._fold = fold_case
        self.locked = locked

    def pattern(self, name: str) -> Pattern:
        """Return the pattern of a claim on the task."""
        return task_pattern(name, fold_case=self._fold)

    def find(self, name: str, *, done: bool = False) -> dict[str, str]:
        """Return the files of one task; names that differ only in case or ending are the same task."""
        key = self.pattern(name).key
        filed = self._filed(done=done)
        return {file: value for n, file, value in filed if self.pattern(n).key == key}

    def first(self, name: str) -> tuple[str, str]:
        """Return the name and the text of a task's file, pending or done; empty if there is none."""
        if self.has_lock_file(name):
            assert self.locked is not None
            snapshot = self.locked.snapshot
            return snapshot.tasks[name].file, snapshot.texts[name].decode("utf-8", "replace")
        found = {**self.find(name, done=True), **self.find(name)}
        file, value = next(iter(found.items()), ("", ""))
        return file, unpack(value).decode("utf-8", "replace")

    def title(self, name: str) -> str:
        """Return the title of a task that is pending in the lock-file queue; else an empty text."""
        if not self.has_lock_file(name):
            return ""
        assert self.locked is not None
        return self.locked.snapshot.tasks[name].title

    def has_lock_file(self, name: str) -> bool:
        """Return whether a task is pending in the lock-file queue."""
        return self.locked is not None and name in self.locked.snapshot.tasks

    def pending(self, agent: str) -> list[QueuedFile]:
        """Return the pending files, in order, each with the owner that blocks ``agent``."""
        rest = [self._state(name, file, self._around(name, agent)) for name, file in self._open()]
        return [*self._in_turn(self.locked, agent), *rest] if self.locked else rest

    def _in_turn(self, locked: LockedTasks, agent: str) -> list[QueuedFile]:
        """Return the tasks of the lock-file queue in their turn, then locks of tasks that are not pending."""
        snapshot = locked.snapshot
        held = {
            name: locked.shown(lock, snapshot.tasks[name].file if name in snapshot.tasks else "")
            for name, lock in snapshot.locks.items()
            if not locked.is_over(self._rows, lock, self.pattern)
        }
        for name, task in snapshot.tasks.items():
            if name not in held and self._rows.is_anything_at(self.pattern(name)):
                state = self._state(name, task.file, self._around(name, agent))
                held |= {name: state} if state.state == HELD else {}
        graph = snapshot.graph({name: file.holder for name, file in held.items()})
        found = []
        for task, why in snapshot.turns(graph):
            free = BROKEN if task.broken else BLOCKED if why else FREE
            file = held.pop(task.name, None) or QueuedFile(task.name, task.file, free)
            found.append(file._replace(why=why, title=task.title, priority=task.priority))
        return [*found, *held.values()]

    def done(self) -> list[QueuedFile]:
        """Return the finished files."""
        over = [QueuedFile(name, file, DONE) for name, file, _ in self._filed(done=True)]
        if self.locked is not None:
            snapshot = self.locked.snapshot
            over += [QueuedFile(name, file, DONE) for name, file in snapshot.done.items() if file]
            over += [QueuedFile(name, file, FAILED) for name, file in snapshot.failed.items()]
        return over

    def expire(self, agent: str) -> None:
        """Remove every expired claim on them: scripts see lock files, not deadlines."""
        for name, _ in self._open():
            for key, claim in self._around(name, agent).dead.items():
                expire(self._rows, key, claim)

    def _open(self) -> list[tuple[str, str]]:
        done = {self.pattern(name).key for name, _, _ in self._filed(done=True)}
        filed = self._filed(done=False)
        return [(n, file) for n, file, _ in filed if self.pattern(n).key not in done]

    def _around(self, name: str, agent: str) -> Survey:
        return survey(self._rows, Request(agent, (self.pattern(name),), EXCLUSIVE, 0.0))

    def _state(self, name: str, file: str, around: Survey) -> QueuedFile:
        for _, claim in around.own.values():
            left = self._rows.deadline(claim) - self._rows.now
            return QueuedFile(name, file, HELD, claim.agent, claim.reason, claim.since, left)
        for found in around.conflicts:
            why = found.reason or ("waiting for it" if found.ticket else "")
            return QueuedFile(name, file, HELD, found.holder, why, found.since, found.expires_in)
        return QueuedFile(name, file, FREE)

    def _filed(self, *, done: bool) -> Iterator[tuple[str, str, str]]:
        for file, value in queue_files(self._rows, done=done):
            name = task_of_file(file, fold_case=self._fold)
            if name and not (self.locked and self.locked.snapshot.has(name)):
                yield name, file, value


class Queue:
    """The operations on the queue, except taking; each is one transaction."""

    def __init__(self, store: Store, locks: LockTasks | None = None) -> None:
        self._store = store
        self._fold = store.fold_case
        self._locks = locks

    @property
    def stale(self) -> str:
        """Why the lock-file queue is shown in an older state; empty if it is current."""
        return self._locks.queue.stale if self._locks is not None else ""

    def done(
        self, caller: Caller, name: str, *, token: int = 0, note: str = "", request_id: str = ""
    ) -> QueuedFile:
        """Finish a task that the caller holds: release its claim, and mark its file as done."""
        pattern = task_pattern(name, fold_case=self._fold)
        words = check_text(note, "note") if note else ""

        def finish(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, [pattern], token)
            files = self._files(rows).find(name)
            if not files:
                raise _no_task(name)
            for file, value in files.items():
                finish_queue_file(rows, file, value)
            task = task_of_file(next(iter(files)), fold_case=self._fold)
            summary = f"{caller.id} finished {task}" + (f": {words}" if words else "")
            details = {"task": task, "note": words} if words else {"task": task}
            rows.emit(caller.id, beat.role, Kind.TASK_COMPLETED, summary, **details)
            give_back(rows, caller.id, beat, filed)
            return [claim for _, claim in filed]

        def step(rows: Rows) -> QueuedFile:
            once(rows, caller.id, request_id, f"done\n{pattern.key}", lambda: finish(rows))
            # A repeated request may arrive after the file is gone.
            file = next(iter(self._files(rows).find(name, done=True)), "")
            spelled = task_of_file(file, fold_case=self._fold) or name_of(pattern)
            return QueuedFile(spelled, file, DONE, caller.id, words)

        return self._store.apply(step)

    def release(self, caller: Caller, name: str, *, token: int = 0) -> QueuedFile:
        """Release a task so that another agent can take it."""
        pattern = task_pattern(name, fold_case=self._fold)
        Holdings(self._store).release(caller, [pattern], token=token)
        file, _ = self._store.look(lambda rows: self._files(rows).first(name))
        return QueuedFile(name_of(pattern), file, FREE)

    def all(self) -> list[QueuedFile]:
        """Return the pending files in order, then the finished ones."""
        locked = self._locks.view() if self._locks is not None else None

        def step(rows: Rows) -> list[QueuedFile]:
            files = QueueFiles(rows, fold_case=self._fold, locked=locked)
            return [*files.pending(""), *files.done()]

        return self._store.look(step)

    def add(self, caller: Caller, files: Mapping[str, bytes]) -> list[QueuedFile]:
        """Add files to the queue, all or nothing, without reading them."""
        names = {file: self._checked(file, content) for file, content in files.items()}
        if self._locks is not None and self._locks.current() is not None:
            return self._locks.add(caller, files, names)

        def step(rows: Rows) -> list[QueuedFile]:
            beat = arrive(rows, caller)
            for file, name in names.items():
                for done, where in ((False, "in the queue"), (True, "done")):
                    if self._files(rows).find(name, done=done):
                        raise already_there(name, where)
                put_queue_file(rows, file, pack(files[file]))
            added = list(names.values())
            summary = f"{caller.id} added {', '.join(added[:5])}"
            rows.emit(caller.id, beat.role, Kind.TASK_ADDED, summary, tasks=added[:SHOWN])
            return [QueuedFile(name, file, FREE) for file, name in names.items()]

        return self._store.apply(step)

    def _files(self, rows: Rows) -> QueueFiles:
        return QueueFiles(rows, fold_case=self._fold)

    def _checked(self, file: str, content: bytes) -> str:
        """Return the name of a file's task; raise ``BadInput`` if the file cannot be a task."""
        name = task_of_file(file, fold_case=self._fold)
        if not name:
            raise BadInput(
                f"{quote(file)} cannot be a task file",
                code="TASK_FILE",
                field="file",
                hint=f"name it TASK with the ending {' or '.join(ENDINGS)}",
            )
        if len(content) > MAX_FILE:
            message = f"{quote(file)} has {len(content)} bytes: at most {MAX_FILE} are allowed"
            raise BadInput(message, code="LIMIT", field="file")
        return name


def _no_task(name: str) -> NotFound:
    return NotFound(
        f"task {quote(name)} is not in the queue, although you hold its claim",
        code="NO_TASK",
        hint=f"release the claim: dibs task release {name}",
    )


def already_there(name: str, where: str) -> BadInput:
    """Return the error for a task whose name is taken."""
    message = f"task {quote(name)} is already {where}"
    return BadInput(message, code="TASK_EXISTS", field="file", hint="rename the file")
