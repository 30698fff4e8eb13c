"""The dependency graph of tasks: cycles, reasons to wait, order, longest chain, and parallelism.

Pure. Only unfinished tasks wait, so a cycle through a finished task blocks nobody. A dependency is met when
it is done; one that failed, was cancelled, or does not exist is always reported.
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

#: The status of an id that no task has.
UNKNOWN = "unknown"
#: Statuses that satisfy a dependency. Archived tasks count as done unless the caller says otherwise.
MET = frozenset({Status.DONE, Status.ARCHIVE})
#: Up to this many open tasks, the width is exact.
EXACT_WIDTH = 2000
#: How many characters of a reason are repeated, and how many tasks of a cycle.
_NOTE, _CYCLE = 100, 8


class TaskObstacle(Record):
    """A dependency that blocks a task, and a predicate that says why."""

    id: str
    why: str


class Width(Record):
    """How many open tasks can be worked on in parallel; a lower bound if not exact."""

    tasks: int
    exact: bool


class _Cause(Record):
    """The task that another one ultimately waits for; sorted, the most important first."""

    #: 0 if someone must decide something, 1 if it only takes work.
    kind: int
    distance: int
    root: str


def unmet(task: Task, status_of: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """Return the direct dependencies that are not done, with their statuses.

    ``status_of`` returns the last status of an archived task, and None for an unknown id.
    """
    return [
        (needed, status)
        for needed in dict.fromkeys(task.dependencies)
        if (status := status_of(needed) or UNKNOWN) not in MET
    ]


def cycle_text(cycle: tuple[str, ...], start: int = 0) -> str:
    """Return a cycle on one line, beginning at index ``start``; each task waits for the next one."""
    count = len(cycle)
    shown = [cycle[(start + i) % count] for i in range(min(count, _CYCLE))]
    if count > _CYCLE:
        shown[-2:] = ["…", cycle[start - 1]]
    text = " -> ".join((*shown, cycle[start]))
    return f"{text} ({count} tasks)" if count > _CYCLE else text


class Graph:
    """The tasks of a board and their dependencies; immutable."""

    def __init__(self, tasks: Iterable[Task], past: Mapping[str, str] | None = None) -> None:
        """Store tasks, and the last statuses of archived tasks that others depend on."""
        #: The tasks by id, in the given order.
        self.nodes = {task.id: task for task in tasks}
        #: The last statuses of tasks that no longer exist.
        self.past = past or {}

    def status_of(self, task_id: str) -> str:
        """Return the status of a task, archived or not, or ``UNKNOWN``."""
        node = self.nodes.get(task_id)
        return node.status if node else self.past.get(task_id, UNKNOWN)

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
        """Return cycles, each once, beginning with its smallest id; every task on a cycle is on one of them.

        There may be too many cycles to list them all; the others appear once these are broken.
        """
        return sorted(_turned(cycle, cycle.index(min(cycle))) for cycle in self._cycles)

    def cycle_of(self, task_id: str) -> tuple[str, ...]:
        """Return a cycle that contains a task, beginning with it; empty if there is none."""
        cycle, at = self._cycle_of.get(task_id, ((), 0))
        return _turned(cycle, at)

    def obstacles(self, task_id: str) -> list[TaskObstacle]:
        """Return why a task cannot start, one reason for each direct dependency; empty if it can."""
        component = self._component_of.get(task_id)
        others = [
            i
            for i in self.unmet(task_id)
            if component is None or self._component_of.get(i) != component
        ]
        found = [TaskObstacle(needed, self._why(needed)) for needed in others]
        return found if component is None else [TaskObstacle(task_id, self.words(task_id)), *found]

    def words(self, task_id: str) -> str:
        """Return the state of a task as a predicate."""
        if task_id in self._cycle_of:
            return f"is in a dependency cycle: {cycle_text(*self._cycle_of[task_id])}"
        return _words(self.nodes.get(task_id) or Task(task_id, self.status_of(task_id)))

    def order(self) -> list[str]:
        """Return all tasks, each after its dependencies, else in the given order; cycles last."""
        order, rest = digraphs.in_order(self._known)
        left = set(rest)
        parts = digraphs.components({i: [d for d in self._known[i] if d in left] for i in rest})
        return order + [task_id for part in parts for task_id in part]

    def levels(self) -> list[tuple[str, ...]]:
        """Return the open tasks in waves; each waits only for tasks in earlier waves.

        Tasks that are on a cycle, or wait for one, are in none of them; see ``never``.
        """
        waves: dict[int, list[str]] = {}
        for task_id in self._workable:
            waves.setdefault(self._depths[task_id], []).append(task_id)
        return [tuple(waves[depth]) for depth in range(len(waves))]

    def never(self) -> list[str]:
        """Return the open tasks that cannot be done: those on a cycle or behind one."""
        return self._orders[1]

    def critical_path(self) -> list[str]:
        """Return the longest chain of open tasks, the first one to do first."""
        deep = self._depths
        chain = [max(self._workable, key=deep.__getitem__)] if self._workable else []
        while chain and deep[chain[-1]]:
            chain.append(max(self._open[chain[-1]], key=deep.__getitem__))
        return chain[::-1]

    def width(self) -> Width:
        """Return how many open tasks can be worked on in parallel.

        This is the largest set in which none waits for another. Above ``EXACT_WIDTH`` tasks it is the largest
        wave, which is a lower bound.
        """
        if len(self._workable) <= EXACT_WIDTH:
            return Width(digraphs.largest_antichain(self._open, self._workable), exact=True)
        return Width(max(map(len, self.levels())), exact=False)

    def dependents(self, task_id: str) -> list[str]:
        """Return the unfinished tasks that depend on a task, directly or not, nearest first."""
        return digraphs.reached(self._back, task_id) if task_id in self._back else []

    def around(self, task_id: str) -> Graph:
        """Return the part of the graph around a task: its dependencies and its dependents."""
        part = {task_id, *digraphs.reached(self._known, task_id), *self.dependents(task_id)}
        return Graph((node for i, node in self.nodes.items() if i in part), self.past)

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        """The known dependencies of each task; none for a finished one."""
        return {
            i: [] if node.status in FINISHED else [d for d in node.dependencies if d in self.nodes]
            for i, node in self.nodes.items()
        }

    @cached_property
    def _open(self) -> dict[str, list[str]]:
        """The unfinished dependencies of each unfinished task."""
        return {
            i: [d for d in self._known[i] if self.nodes[d].status not in FINISHED]
            for i, node in self.nodes.items()
            if node.status not in FINISHED
        }

    @cached_property
    def _back(self) -> dict[str, list[str]]:
        """The unfinished tasks that depend on each id, known or not."""
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
    def _component_of(self) -> dict[str, int]:
        """The cyclic component of each task on a cycle."""
        return {
            i: at
            for at, component in enumerate(digraphs.cyclic_components(self._open))
            for i in component
        }

    @cached_property
    def _cycles(self) -> list[tuple[str, ...]]:
        cyclic_components = self._component_of
        inner = {
            i: [d for d in self._open[i] if cyclic_components.get(d) == at]
            for i, at in cyclic_components.items()
        }
        found, covered = [], set[str]()
        for task_id in sorted(inner):
            if task_id not in covered:
                found.append(digraphs.shortest_cycle(inner, task_id))
                covered.update(found[-1])
        return found

    @cached_property
    def _cycle_of(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """A cycle for each task that is on one, and the task's index in it."""
        return {i: (cycle, at) for cycle in self._cycles for at, i in enumerate(cycle)}

    @cached_property
    def _causes(self) -> dict[str, _Cause]:
        """For each unfinished task, what its dependents ultimately wait for."""
        causes: dict[str, _Cause] = {}
        for task_id in (i for part in digraphs.components(self._open) for i in part):
            status = self.nodes[task_id].status
            if task_id in self._component_of or status in {Status.ERROR, Status.BLOCKED}:
                causes[task_id] = _Cause(0, 0, task_id)
                continue
            needs = self.unmet(task_id) if status in OPEN else []
            nearer = [causes.get(needed, _Cause(0, 0, needed)) for needed in needs]
            kind, distance, root = min(nearer, default=_Cause(1, -1, task_id))
            causes[task_id] = _Cause(kind, distance + 1, root)
        return causes

    def _why(self, needed: str) -> str:
        """Return why the dependency ``needed`` blocks a task."""
        if self.status_of(needed) == UNKNOWN:
            return f"{printable(needed)} does not exist"
        root = self._causes[needed].root if needed in self._causes else needed
        way = needed if root == needed else f"{needed}, which waits for {printable(root)}"
        return f"waits for {way}, which {self.words(root)}"


def _turned(cycle: tuple[str, ...], at: int) -> tuple[str, ...]:
    return cycle[at:] + cycle[:at]


#: Statuses as predicates.
_WORDS = {
    UNKNOWN: "does not exist",
    Status.NEW: "has not started",
    Status.ASSIGNED: "is assigned",
    Status.IN_PROGRESS: "is in progress",
    Status.BLOCKED: "is blocked",
    Status.ERROR: "failed",
    Status.CANCELLED: "was cancelled",
    Status.DONE: "is done",
    Status.ARCHIVE: "is archived",
}
_WITH_AGENT = frozenset({Status.ASSIGNED, Status.IN_PROGRESS})
_WITH_NOTE = frozenset({Status.BLOCKED, Status.ERROR, Status.CANCELLED})


def note_of(task: Task) -> str:
    """Return why a task failed, is blocked, or was cancelled."""
    return task.error if task.status == Status.ERROR else task.reason


def _words(task: Task) -> str:
    said = _WORDS.get(task.status, f"is {task.status}")
    if task.status in _WITH_AGENT and task.agent:
        return f"{said} ({printable(task.agent)})"
    note = printable(note_of(task).strip().partition("\n")[0].rstrip())
    if task.status not in _WITH_NOTE or not note:
        return said
    return f"{said}: {note[: _NOTE - 1]}…" if len(note) > _NOTE else f"{said}: {note}"
