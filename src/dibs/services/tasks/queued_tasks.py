"""Queued files as commands for tasks of the board see them: ended, shown, and in the dependency graph."""

from __future__ import annotations

from dibs.core.tasks.graph import Graph
from dibs.core.tasks.rules import Status, Task
from dibs.errors import NotFound
from dibs.services.state.tasks import Stored
from dibs.services.tasks.plain_queue import BLOCKED, DONE, FAILED, FREE, HELD, Queue, QueueFiles
from dibs.services.tasks.values import QUEUE, TaskView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.lock_queue.tasks import LockTasks
    from dibs.services.tasks.plain_queue import LockedTasks, QueuedFile

_STATUSES = {
    DONE: Status.DONE,
    FAILED: Status.ERROR,
    HELD: Status.IN_PROGRESS,
    BLOCKED: Status.BLOCKED,
}


def end_queued(
    store: Store, locks: LockTasks | None, verb: str, caller: Caller, id_: str, **said: Any
) -> Stored | None:
    """End an attempt at a queued file; None if no such file exists."""
    if locks is not None and locks.knows(id_):
        said.pop("request_id", "")
        return _stored(getattr(locks, verb)(caller, id_, **said))
    queue = Queue(store)
    if verb in {"fail", "retry"}:
        return None
    try:
        return _stored(getattr(queue, verb)(caller, id_, **said))
    except NotFound:
        if any(queued.name == id_ for queued in queue.all()):
            raise
        return None


def show_queued(store: Store, rows: Rows, locked: LockedTasks, id_: str) -> TaskView | None:
    """Return a task of the lock-file queue as a reader sees it; None if there is none."""
    files = QueueFiles(rows, fold_case=store.fold_case, locked=locked)
    listed = [*files.pending(""), *files.done()]
    found = next((file for file in listed if file.name == id_), None)
    if found is None or not locked.snapshot.has(id_):
        return None
    stored = _stored(found)
    task, text = locked.snapshot.tasks.get(id_), files.first(id_)[1]
    if task is not None:
        more = stored.task._replace(dependencies=task.dependencies, priority=task.priority)
        stored = stored._replace(task=more._replace(title=task.title), text=text)
    why = (*((found.reason,) if found.reason else ()), *found.why)
    after = tuple(t.name for t in locked.snapshot.tasks.values() if id_ in t.dependencies)
    ready = found.state == FREE
    return TaskView(
        stored, stored.task.status, why, found.holder, found.expires_in, ready, after
    )  # fmt: skip


def with_queue(graph: Graph, rows: Rows, store: Store, locked: LockedTasks) -> Graph:
    """Return the dependency graph of the board with the tasks of the lock-file queue."""
    files = QueueFiles(rows, fold_case=store.fold_case, locked=locked)
    held = {file.name: file.holder for file in files.pending("") if file.state == HELD}
    more = locked.snapshot.graph(held)
    known = {**more.nodes, **graph.nodes}
    return Graph(known.values(), {**more.past, **graph.past})


def _stored(file: QueuedFile) -> Stored:
    """Return a queued file as a stored task."""
    status = _STATUSES.get(file.state, Status.NEW)
    error = file.reason if status == Status.ERROR else ""
    summary = file.reason if status == Status.DONE else ""
    task = Task(file.name, status, file.holder, summary=summary, error=error)
    return Stored(task, file.file, QUEUE, "", 0)
