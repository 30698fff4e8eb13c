"""The lock-file queue as agents of one store see it: its lock files, and the claims ``task:NAME``.

A lock counts until it expires, or until its owner in this store has no claim on the task any more.
"""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE, Request
from dibs.core.tasks.graph import Graph
from dibs.core.tasks.names import task_pattern
from dibs.core.tasks.rules import Status, Task
from dibs.services.claims.acquire import survey
from dibs.services.state.lock_notes import lock_note, noted_claim
from dibs.services.state.tasks import Stored
from dibs.services.tasks.values import QUEUE, TaskView
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows
    from dibs.services.tasks.lock_queue.snapshot import Lock, QueueSnapshot

FREE, HELD, DONE = "free", "held", "done"
#: States of a task that nobody can take.
BLOCKED, BROKEN, FAILED = "blocked", "broken", "failed"
#: The reason of a lock file that a script wrote.
SCRIPT = "a script's lock file"
#: The reason of a lock file whose owner has the reader's name, but another store.
NAMESAKE = "an agent of the same name in another clone"
_STATUSES = {
    DONE: Status.DONE,
    FAILED: Status.ERROR,
    HELD: Status.IN_PROGRESS,
    BLOCKED: Status.BLOCKED,
}


class QueuedFile(Record):
    """A task of the queue as a reader sees it."""

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

    def stored(self) -> Stored:
        """Return it as a stored task."""
        status = _STATUSES.get(self.state, Status.NEW)
        error = self.reason if status == Status.ERROR else ""
        summary = self.reason if status == Status.DONE else ""
        task = Task(self.name, status, self.holder, summary=summary, error=error)
        return Stored(task, self.file, QUEUE, "", 0)


class LockedTasks(Record):
    """The queue at one moment."""

    snapshot: QueueSnapshot
    #: Seconds since 1970.
    now: float
    fold_case: bool


class QueueView:
    """The queue at one moment, in one transaction."""

    def __init__(self, rows: Rows, locked: LockedTasks) -> None:
        self._rows = rows
        self._now = locked.now
        self._fold = locked.fold_case
        self._queue = locked.snapshot

    def pattern(self, name: str) -> Pattern:
        """Return the pattern of a claim on the task."""
        return task_pattern(name, fold_case=self._fold)

    def is_pending(self, name: str) -> bool:
        """Return whether a task is not finished."""
        return name in self._queue.tasks

    def taken(self, name: str, agent: str) -> Stored:
        """Return the stored task of an agent that has just taken it."""
        found, text = self._queue.tasks.get(name), self._queue.texts.get(name, b"")
        task = Task(name, Status.IN_PROGRESS, agent, found.title if found else "")
        words = text.decode("utf-8", "replace")
        return Stored(task, found.file if found else "", QUEUE, words, 0)

    def all(self) -> list[QueuedFile]:
        """Return the tasks in their turn, then locks without a task, then finished tasks."""
        return [*self.pending(""), *self._finished()]

    def pending(self, agent: str) -> list[QueuedFile]:
        """Return the tasks in their turn, each with the owner that blocks ``agent``, then other locks."""
        queue = self._queue
        held = {
            name: self._locked(lock) for name, lock in queue.locks.items() if self._counts(lock)
        }
        for name, task in queue.tasks.items():
            if name not in held and self._rows.is_anything_at(self.pattern(name)):
                state = self._state(name, task.file, self._around(name, agent))
                held |= {name: state} if state.state == HELD else {}
        graph = queue.graph({name: file.holder for name, file in held.items()})
        found = []
        for task, why in queue.turns(graph):
            free = BROKEN if task.broken else BLOCKED if why else FREE
            file = held.pop(task.name, None) or QueuedFile(task.name, task.file, free)
            found.append(file._replace(why=why, title=task.title, priority=task.priority))
        return [*found, *held.values()]

    def _finished(self) -> list[QueuedFile]:
        queue = self._queue
        done = [QueuedFile(name, file, DONE) for name, file in queue.done.items() if file]
        return [*done, *(QueuedFile(name, file, FAILED) for name, file in queue.failed.items())]

    def _counts(self, lock: Lock) -> bool:
        """Return whether a lock still counts."""
        if lock.until <= self._now:
            return False
        note = lock_note(self._rows, lock.name) if lock.file.nonce else None
        if note is None or lock.file.nonce not in {note.nonce, note.replaces}:
            return True
        mine = noted_claim(self._rows, note, self.pattern(lock.name))
        return lock.file.nonce != note.replaces and mine is not None

    def _locked(self, lock: Lock) -> QueuedFile:
        """Return a task that a lock file holds."""
        task = self._queue.tasks.get(lock.name)
        reason = "" if lock.file.nonce else SCRIPT
        return QueuedFile(
            lock.name, task.file if task else "", HELD, lock.file.agent, reason, lock.file.claimed,
            max(lock.until - self._now, 0.0),
        )  # fmt: skip

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

    # -- as tasks of the board

    def show(self, id_: str) -> TaskView | None:
        """Return a task as a reader sees it; None if there is none."""
        found = next((file for file in self.all() if file.name == id_), None)
        if found is None or not self._queue.has(id_):
            return None
        stored = found.stored()
        task = self._queue.tasks.get(id_)
        if task is not None:
            more = stored.task._replace(dependencies=task.dependencies, priority=task.priority)
            text = self._queue.texts[id_].decode("utf-8", "replace")
            stored = stored._replace(task=more._replace(title=task.title), text=text)
        why = (*((found.reason,) if found.reason else ()), *found.why)
        after = tuple(t.name for t in self._queue.tasks.values() if id_ in t.dependencies)
        return TaskView(
            stored, stored.task.status, why, found.holder, found.expires_in, found.state == FREE, after,
        )  # fmt: skip

    def in_graph(self, graph: Graph) -> Graph:
        """Return the dependency graph of the board with the tasks of the queue."""
        held = {file.name: file.holder for file in self.pending("") if file.state == HELD}
        more = self._queue.graph(held)
        return Graph({**more.nodes, **graph.nodes}.values(), {**more.past, **graph.past})
