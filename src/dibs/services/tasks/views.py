"""Tasks as readers see them: what state they are in, and what stands in their way."""

from __future__ import annotations

from dibs.core.claims.rules import deadline
from dibs.core.tasks.graph import Graph
from dibs.core.tasks.order import urgency
from dibs.core.tasks.rules import ARCHIVE, FINISHED, OPEN, Status, Task
from dibs.services.tasks.attempts import live_claim
from dibs.services.tasks.rows import dependents, every, load, need, past
from dibs.services.tasks.values import Shown, Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk
    from dibs.services.tasks.values import Past


def all_shown(desk: Desk, book: Book, *, finished: bool) -> list[Shown]:
    """Return the tasks in the order in which they would be taken, those that are over last."""
    rows = list(every(book))
    graph = _graph(book, rows)
    chosen = [row for row in rows if finished or row.task.status not in FINISHED]
    return [_shown(desk, book, graph, row) for row in sorted(chosen, key=_order)]


def _order(stored: Stored) -> tuple[bool, int, float, str]:
    task = stored.task
    return task.status in FINISHED, urgency(task.priority), task.created, task.id


def one_shown(desk: Desk, book: Book, id_: str) -> Shown:
    """Return one task, archived or not, with those that wait for it."""
    stored = load(book, id_)
    if stored is None:
        ended = past(book, id_)
        return _gone(ended) if ended is not None else _shown(desk, book, Graph(()), need(book, id_))
    shown = _shown(desk, book, graph_around(book, [stored.id]), stored)
    return shown._replace(dependents=tuple(sorted(dependents(book, stored.id))))


def shown_in(desk: Desk, book: Book, ids: Iterable[str]) -> list[Shown]:
    """Return some tasks, of those that there are."""
    ids = list(ids)
    graph = graph_around(book, ids)
    rows = [row for row in (load(book, id_) for id_ in ids) if row is not None]
    return [_shown(desk, book, graph, row) for row in rows]


def whole_graph(book: Book) -> Graph:
    """Return how all tasks depend on each other."""
    return _graph(book, list(every(book)))


def graph_around(book: Book, ids: Iterable[str]) -> Graph:
    """Return the graph of some tasks and all that they wait for."""
    tasks: dict[str, Task] = {}
    ended: dict[str, str] = {}
    waiting = list(ids)
    while waiting:
        id_ = waiting.pop()
        if id_ in tasks or id_ in ended:
            continue
        stored = load(book, id_)
        if stored is not None and stored.id == id_:
            tasks[id_] = stored.task
            if stored.task.status not in FINISHED:
                waiting += stored.task.dependencies
        elif (before := past(book, id_)) is not None:
            ended[id_] = before.status
    return Graph.of(tasks.values(), ended)


def _graph(book: Book, rows: list[Stored]) -> Graph:
    here = {row.id for row in rows}
    named = {d for row in rows if row.task.status not in FINISHED for d in row.task.dependencies}
    found = {id_: past(book, id_) for id_ in sorted(named - here)}
    ended = {id_: before.status for id_, before in found.items() if before is not None}
    return Graph.of((row.task for row in rows), ended)


def _shown(desk: Desk, book: Book, graph: Graph, stored: Stored) -> Shown:
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
    claim = live_claim(desk, book, stored.id) if stored.token else None
    if claim is None:
        return Shown(stored, state, why, ready=bool(stored.ready))
    left = deadline(claim, book.seen(claim.agent)) - book.now
    return Shown(stored, state, why, claim.agent, left)


def _gone(ended: Past) -> Shown:
    task = Task(
        ended.id, ARCHIVE, ended.agent, ended.title, completed=ended.completed
    )  # fmt: skip
    stored = Stored(task, ended.file, ended.place, "", ended.version, doer=ended.doer)
    return Shown(stored, ARCHIVE, (f"it was {ended.status}",), past=ended)
