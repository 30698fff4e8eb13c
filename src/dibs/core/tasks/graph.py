"""Which task waits for which: circles, reasons, an order, the longest chain, how many can be done at once.

Pure. Only tasks that are not finished wait: a circle through a done task holds nobody up. A dependency is met
when it is done; one that failed, was cancelled or is not known is told, never passed over.
"""

from __future__ import annotations

from functools import cached_property

from dibs.core.tasks import digraphs
from dibs.core.tasks.rules import FINISHED, OPEN, Status, Task
from dibs.core.text.names import printable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: What stands in the place of a status for an id that no task has.
UNKNOWN = "unknown"
#: Statuses that a dependency can be left at. Only what was done is archived, unless the caller knows better.
MET = frozenset({Status.DONE, Status.ARCHIVE})
#: Up to so many open tasks the width is exact.
EXACT_WIDTH = 2000
#: How much of somebody's reason a reason repeats, and how many tasks of a circle.
_NOTE, _CIRCLE = 100, 8


class TaskObstacle(Record):
    """What keeps a task from being done: the task in its way, and a sentence without its subject."""

    id: str
    why: str


class Width(Record):
    """How many open tasks can be worked on at once; at least so many if it is not exact."""

    tasks: int
    exact: bool


class _Cause(Record):
    """The task for which another one waits in the end; ordered, the most telling first."""

    #: 0 if somebody must decide something, 1 if work alone will do.
    kind: int
    distance: int
    root: str


def unmet(task: Task, status_of: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """Return the direct dependencies that are not done, with their statuses.

    ``status_of`` gives the status that an archived task had before, and None for an id that there is not.
    """
    return [
        (needed, status)
        for needed in dict.fromkeys(task.dependencies)
        if (status := status_of(needed) or UNKNOWN) not in MET
    ]


def circle_text(circle: tuple[str, ...], start: int = 0) -> str:
    """Return a circle on one line from its task at ``start`` on, each before the one that it waits for."""
    count = len(circle)
    shown = [circle[(start + i) % count] for i in range(min(count, _CIRCLE))]
    if count > _CIRCLE:
        shown[-2:] = ["…", circle[start - 1]]
    text = " -> ".join((*shown, circle[start]))
    return f"{text} ({count} tasks)" if count > _CIRCLE else text


class Graph:
    """The tasks of a board and what they wait for; does not change."""

    def __init__(self, tasks: Iterable[Task], past: Mapping[str, str] | None = None) -> None:
        """Take tasks, and the last statuses of archived tasks that others name."""
        #: The tasks by id, in the order in which they were given.
        self.nodes = {task.id: task for task in tasks}
        self._past = past or {}

    def status_of(self, task_id: str) -> str:
        """Return the status of a task, also of an archived one, or ``UNKNOWN``."""
        node = self.nodes.get(task_id)
        return node.status if node else self._past.get(task_id, UNKNOWN)

    def unmet(self, task_id: str) -> list[str]:
        """Return the direct dependencies of an unfinished task that are not done."""
        node = self.nodes[task_id]
        if node.status in FINISHED:
            return []
        return [i for i in dict.fromkeys(node.dependencies) if self.status_of(i) not in MET]

    def ready(self) -> list[str]:
        """Return the tasks that can be taken now."""
        return [i for i, node in self.nodes.items() if node.status in OPEN and not self.unmet(i)]

    def cycles(self) -> list[tuple[str, ...]]:
        """Return circles, each once, its smallest id first; each task on any circle is on one of them.

        All circles may be more than anybody can read; when one is cut, those left over are shown.
        """
        return sorted(_turned(circle, circle.index(min(circle))) for circle in self._circles)

    def cycle_of(self, task_id: str) -> tuple[str, ...]:
        """Return a circle that a task is on, the task first; empty if it is on none."""
        circle, at = self._circle_of.get(task_id, ((), 0))
        return _turned(circle, at)

    def obstacles(self, task_id: str) -> list[TaskObstacle]:
        """Return why a task cannot begin, one reason for each direct dependency; empty if it can."""
        knot = self._knot_of.get(task_id)
        others = [i for i in self.unmet(task_id) if knot is None or self._knot_of.get(i) != knot]
        found = [TaskObstacle(needed, self._why(needed)) for needed in others]
        return found if knot is None else [TaskObstacle(task_id, self.words(task_id)), *found]

    def words(self, task_id: str) -> str:
        """Say how it stands with a task, as the end of a sentence."""
        if task_id in self._circle_of:
            return f"is in a circle: {circle_text(*self._circle_of[task_id])}"
        return _words(self.nodes.get(task_id) or Task(task_id, self.status_of(task_id)))

    def order(self) -> list[str]:
        """Return all tasks, each after those that it waits for, else in the order given; circles last."""
        order, rest = digraphs.in_order(self._known)
        left = set(rest)
        parts = digraphs.components({i: [d for d in self._known[i] if d in left] for i in rest})
        return order + [task_id for part in parts for task_id in part]

    def levels(self) -> list[tuple[str, ...]]:
        """Return the open tasks in waves: each waits only for tasks of earlier waves.

        What is on a circle, or waits for one, is in none of them (``never``).
        """
        waves: dict[int, list[str]] = {}
        for task_id in self._workable:
            waves.setdefault(self._depths[task_id], []).append(task_id)
        return [tuple(waves[depth]) for depth in range(len(waves))]

    def never(self) -> list[str]:
        """Return the open tasks that work alone does not bring about: on a circle, or after one."""
        return self._orders[1]

    def critical_path(self) -> list[str]:
        """Return the longest chain of open tasks, the one to begin with first."""
        deep = self._depths
        chain = [max(self._workable, key=deep.__getitem__)] if self._workable else []
        while chain and deep[chain[-1]]:
            chain.append(max(self._open[chain[-1]], key=deep.__getitem__))
        return chain[::-1]

    def width(self) -> Width:
        """Return how many open tasks can be worked on at once, if all goes well.

        Exactly that is the largest set in which none waits for another. Beyond ``EXACT_WIDTH`` tasks it is
        the largest wave, which is never more than that.
        """
        if len(self._workable) <= EXACT_WIDTH:
            return Width(digraphs.largest_antichain(self._open, self._workable), exact=True)
        return Width(max(map(len, self.levels())), exact=False)

    def dependents(self, task_id: str) -> list[str]:
        """Return the unfinished tasks that name a task as a dependency, directly or not, nearest first."""
        return digraphs.reached(self._back, task_id) if task_id in self._back else []

    def around(self, task_id: str) -> Graph:
        """Return the part of the graph that a task belongs to: what it waits for, what waits for it."""
        part = {task_id, *digraphs.reached(self._known, task_id), *self.dependents(task_id)}
        return Graph((node for i, node in self.nodes.items() if i in part), self._past)

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        """What each task waits for, as far as it is here; a finished one waits for nothing."""
        return {
            i: [] if node.status in FINISHED else [d for d in node.dependencies if d in self.nodes]
            for i, node in self.nodes.items()
        }

    @cached_property
    def _open(self) -> dict[str, list[str]]:
        """What each unfinished task waits for that is unfinished too."""
        return {
            i: [d for d in self._known[i] if self.nodes[d].status not in FINISHED]
            for i, node in self.nodes.items()
            if node.status not in FINISHED
        }

    @cached_property
    def _back(self) -> dict[str, list[str]]:
        """Which unfinished tasks name an id, known or not."""
        back: dict[str, list[str]] = {task_id: [] for task_id in self.nodes}
        for task_id in self._open:
            for needed in dict.fromkeys(self.nodes[task_id].dependencies):
                back.setdefault(needed, []).append(task_id)
        return back

    @cached_property
    def _orders(self) -> tuple[list[str], list[str]]:
        return digraphs.in_order(self._open)

    @property
    def _workable(self) -> list[str]:
        return self._orders[0]

    @cached_property
    def _depths(self) -> dict[str, int]:
        return digraphs.depths(self._open, self._workable)

    @cached_property
    def _knot_of(self) -> dict[str, int]:
        """The knot of each task that is on a circle: the tasks of a knot wait for each other."""
        return {i: at for at, knot in enumerate(digraphs.knots(self._open)) for i in knot}

    @cached_property
    def _circles(self) -> list[tuple[str, ...]]:
        knots = self._knot_of
        inner = {i: [d for d in self._open[i] if knots.get(d) == at] for i, at in knots.items()}
        found, covered = [], set[str]()
        for task_id in sorted(inner):
            if task_id not in covered:
                found.append(digraphs.shortest_circle(inner, task_id))
                covered.update(found[-1])
        return found

    @cached_property
    def _circle_of(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """A circle for each task that is on one, and the place of the task in it."""
        return {i: (circle, at) for circle in self._circles for at, i in enumerate(circle)}

    @cached_property
    def _causes(self) -> dict[str, _Cause]:
        """For each unfinished task, what those that wait for it wait for in the end."""
        causes: dict[str, _Cause] = {}
        for task_id in (i for part in digraphs.components(self._open) for i in part):
            status = self.nodes[task_id].status
            if task_id in self._knot_of or status in {Status.ERROR, Status.BLOCKED}:
                causes[task_id] = _Cause(0, 0, task_id)
                continue
            needs = self.unmet(task_id) if status in OPEN else []
            nearer = [causes.get(needed, _Cause(0, 0, needed)) for needed in needs]
            kind, distance, root = min(nearer, default=_Cause(1, -1, task_id))
            causes[task_id] = _Cause(kind, distance + 1, root)
        return causes

    def _why(self, needed: str) -> str:
        """Say why the dependency ``needed`` is in the way."""
        if self.status_of(needed) == UNKNOWN:
            return f"{printable(needed)} is not known"
        root = self._causes[needed].root if needed in self._causes else needed
        way = needed if root == needed else f"{needed}, which waits for {printable(root)}"
        return f"waits for {way}, which {self.words(root)}"


def _turned(circle: tuple[str, ...], at: int) -> tuple[str, ...]:
    return circle[at:] + circle[:at]


#: How it stands with a task, as the end of a sentence.
_WORDS = {
    UNKNOWN: "is not known",
    Status.NEW: "is not started",
    Status.ASSIGNED: "is assigned",
    Status.IN_PROGRESS: "is in progress",
    Status.IN_REVIEW: "is in review",
    Status.BLOCKED: "is blocked",
    Status.ERROR: "failed",
    Status.CANCELLED: "was cancelled",
    Status.DONE: "is done",
    Status.ARCHIVE: "is archived",
}
_WITH_AGENT = frozenset({Status.ASSIGNED, Status.IN_PROGRESS, Status.IN_REVIEW})
_WITH_NOTE = frozenset({Status.BLOCKED, Status.ERROR, Status.CANCELLED})


def note_of(task: Task) -> str:
    """Return why a task failed, is blocked or was cancelled."""
    return task.error if task.status == Status.ERROR else task.reason


def _words(task: Task) -> str:
    said = _WORDS.get(task.status, f"is {task.status}")
    if task.status in _WITH_AGENT and task.agent:
        return f"{said} ({printable(task.agent)})"
    note = printable(note_of(task).strip().partition("\n")[0].rstrip())
    if task.status not in _WITH_NOTE or not note:
        return said
    return f"{said}: {note[: _NOTE - 1]}…" if len(note) > _NOTE else f"{said}: {note}"
