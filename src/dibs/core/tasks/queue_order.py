"""The order of the lock-file queue: which task is next, and why others must wait.

Pure. A task waits until its dependencies are done. Among the others the most urgent is first, then the one
with the most work behind it: its own size plus that of the longest chain of tasks that wait for it. So a
large task, or one that many others need, does not start last. Ties keep the order of the files.
"""

from __future__ import annotations

from dibs.core.tasks import digraphs
from dibs.core.tasks.graph import UNKNOWN, Graph
from dibs.core.tasks.rules import OPEN, Status, Task, urgency
from dibs.core.text.durations import parse_span
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

#: Sizes in words, in hours; a task that states no size has the middle one.
SIZES = {"xs": 0.25, "s": 0.5, "m": 1.0, "l": 3.0, "xl": 8.0, "xxl": 16.0}
SIZES |= {"tiny": 0.25, "small": 0.5, "medium": 1.0, "large": 3.0, "huge": 8.0}
USUAL = SIZES["m"]
#: The largest size that counts, in hours.
_LARGEST = 10_000.0
_ENDINGS = (".yml", ".yaml")


class QueueTask(Record):
    """A task of the queue: its file, and what the file says that decides its turn."""

    name: str
    file: str
    title: str = ""
    priority: str = "normal"
    dependencies: tuple[str, ...] = ()
    #: The stated size in hours.
    size: float = USUAL
    #: Why the file cannot be read; such a task is shown and skipped.
    broken: str = ""


class OrderedTask(Record):
    """A task in its turn, and why it must wait; empty if it can start."""

    task: QueueTask
    why: tuple[str, ...]


def size_of(text: str) -> float:
    """Return a stated size in hours: a word (``large``), a number of hours, or a duration (``90m``)."""
    word = text.strip().lower()
    if word in SIZES:
        return SIZES[word]
    try:
        number = parse_span(word)
    except BadInput:
        return USUAL
    hours = number if word[-1].isdigit() else number / 3600
    return min(max(hours, 0.0), _LARGEST)


def needed_name(text: str) -> str:
    """Return the task that a dependency names, which may be written as its file."""
    name = text.strip().rpartition("/")[2]
    ending = next((e for e in _ENDINGS if name.endswith(e)), "")
    return name.removesuffix(ending) if ending else name


def queue_graph(
    tasks: Sequence[QueueTask],
    held: Mapping[str, str],
    done: Collection[str],
    failed: Collection[str] = (),
) -> Graph:
    """Return the dependency graph of a queue; ``held`` maps tasks in progress to their owners."""
    nodes = []
    for task in tasks:
        owner = held.get(task.name)
        idle = Status.BLOCKED if task.broken else Status.NEW
        status = idle if owner is None else Status.IN_PROGRESS
        nodes.append(
            Task(task.name, status, owner or "", task.title, task.priority,
                 dependencies=task.dependencies, reason=task.broken)
        )  # fmt: skip
    known = {task.name for task in tasks}
    nodes += [Task(n, Status.IN_PROGRESS, who) for n, who in held.items() if n not in known]
    known.update(held)
    nodes += [Task(name, Status.ERROR) for name in failed if name not in known]
    return Graph(nodes, dict.fromkeys(done, Status.DONE))


def in_turn(tasks: Sequence[QueueTask], graph: Graph) -> list[OrderedTask]:
    """Return the tasks in the order in which they are taken, with their reasons to wait."""
    weights = _weights({task.name: task for task in tasks}, graph)
    place = {task.name: at for at, task in enumerate(tasks)}

    def turn(task: QueueTask) -> tuple[int, float, int]:
        return urgency(task.priority), -weights.get(task.name, 0.0), place[task.name]

    found = []
    for task in sorted(tasks, key=turn):
        waits = graph.status_of(task.name) in OPEN
        why = tuple(o.why for o in graph.obstacles(task.name)) if waits else ()
        found.append(OrderedTask(task, (*((task.broken,) if task.broken else ()), *why)))
    return found


def missing(tasks: Sequence[QueueTask], graph: Graph) -> list[str]:
    """Return the dependencies that are unknown, each once."""
    needed = (name for task in tasks for name in task.dependencies)
    return [name for name in dict.fromkeys(needed) if graph.status_of(name) == UNKNOWN]


def _weights(tasks: Mapping[str, QueueTask], graph: Graph) -> dict[str, float]:
    """Return for each task the work on the longest chain that begins with it."""
    waiting: dict[str, list[str]] = {name: [] for name in tasks}
    for name, task in tasks.items():
        for needed in dict.fromkeys(task.dependencies):
            if needed in waiting and graph.status_of(needed) in OPEN:
                waiting[needed].append(name)
    order, cyclic = digraphs.in_order(waiting)
    weights = {name: tasks[name].size for name in cyclic}
    for name in order:
        chain = max((weights[after] for after in waiting[name] if after in weights), default=0.0)
        weights[name] = tasks[name].size + chain
    return weights
