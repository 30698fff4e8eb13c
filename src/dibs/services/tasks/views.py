"""Tasks as readers see them: their state, and what blocks them."""

from __future__ import annotations

from dibs.core.tasks.graph import Graph
from dibs.core.tasks.rules import ARCHIVE, FINISHED, OPEN, Status, Task, urgency
from dibs.services.state.task_index import dependents
from dibs.services.state.tasks import Stored, every, load, need, past, several
from dibs.services.tasks.attempts import live_claim
from dibs.services.tasks.values import TaskView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Past


def all_shown(store: Store, rows: Rows, *, finished: bool) -> list[TaskView]:
    """Return tasks in the order in which they would be taken, finished ones last."""
    listed = list(every(rows))
    graph = _graph_of(rows, listed)
    chosen = [row for row in listed if finished or row.task.status not in FINISHED]
    return [_shown(store, rows, graph, row) for row in sorted(chosen, key=_order)]


def _order(stored: Stored) -> tuple[bool, int, float, str]:
    task = stored.task
    return task.status in FINISHED, urgency(task.priority), task.created, task.id


def one_shown(store: Store, rows: Rows, id_: str) -> TaskView:
    """Return one task, archived or not, with the tasks that depend on it."""
    ended = past(rows, id_) if load(rows, id_) is None else None
    if ended is not None:
        return _gone(ended)
    stored = need(rows, id_)
    shown = _shown(store, rows, graph_around(rows, [stored.id]), stored)
    return shown._replace(dependents=tuple(sorted(dependents(rows, stored.id))))


def shown_in(store: Store, rows: Rows, ids: Iterable[str]) -> list[TaskView]:
    """Return the tasks with these ids, skipping those that do not exist."""
    ids = list(ids)
    graph = graph_around(rows, ids)
    return [_shown(store, rows, graph, row) for row in several(rows, ids).values()]


def whole_graph(rows: Rows) -> Graph:
    """Return the dependency graph of all tasks."""
    return _graph_of(rows, list(every(rows)))


def _graph_of(rows: Rows, listed: list[Stored]) -> Graph:
    unfinished = [row.task for row in listed if row.task.status not in FINISHED]
    named = (id_ for task in unfinished for id_ in task.dependencies)
    return graph_around(rows, named, {row.id: row.task for row in listed})


def graph_around(rows: Rows, ids: Iterable[str], known: dict[str, Task] | None = None) -> Graph:
    """Return the graph of these tasks, of those ``known``, and of everything that they wait for."""
    tasks = known or {}
    ended: dict[str, str] = {}
    waiting = list(ids)
    while waiting:
        id_ = waiting.pop()
        if id_ in tasks or id_ in ended:
            continue
        stored = load(rows, id_)
        if stored is not None and stored.id == id_:
            tasks[id_] = stored.task
            if stored.task.status not in FINISHED:
                waiting += stored.task.dependencies
        elif (before := past(rows, id_)) is not None:
            ended[id_] = before.status
    return Graph([tasks[id_] for id_ in sorted(tasks)], ended)


def _shown(store: Store, rows: Rows, graph: Graph, stored: Stored) -> TaskView:
    task = stored.task
    state = task.status
    why: tuple[str, ...] = ()
    if task.status in OPEN and not stored.ready:
        why = tuple(obstacle.why for obstacle in graph.obstacles(stored.id))
        why += (stored.aside,) if stored.aside else ()
        state = Status.BLOCKED if why else state
    elif task.status == Status.ERROR:
        why = (task.error,) if task.error else ()
    elif task.reason:
        why = (task.reason,)
    claim = live_claim(store, rows, stored.id) if stored.token else None
    if claim is None:
        return TaskView(stored, state, why, ready=bool(stored.ready))
    left = rows.deadline(claim) - rows.now
    return TaskView(stored, state, why, claim.agent, left)


def _gone(ended: Past) -> TaskView:
    task = Task(
        ended.id, ARCHIVE, ended.agent, ended.title, completed=ended.completed
    )  # fmt: skip
    stored = Stored(task, ended.file, ended.place, "", ended.version, doer=ended.doer)
    return TaskView(stored, ARCHIVE, (f"archived as {ended.status}",), past=ended)
