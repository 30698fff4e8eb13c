"""Check the dependencies of new tasks before any of them is on the board. Pure."""

from __future__ import annotations

from dibs.core.tasks import digraphs
from dibs.core.tasks.graph import cycle_text
from dibs.core.text.names import closest, printable, quote
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.core.tasks.rules import Task

_HINT = "create that task first"


def check_new(tasks: Iterable[Task], known: Callable[[str], Iterable[str] | None]) -> None:
    """Refuse dependency cycles and unknown dependencies (``TASK_DEPENDENCY``).

    New tasks may name each other in any order. ``known`` returns the dependencies of a task on the board, an
    empty list for a finished or archived one, and None for an unknown id. A new task replaces the one on the
    board with its id. Problems that were already on the board are not reported.
    """
    batch = {task.id: task.dependencies for task in tasks}
    edges = dict(batch)
    waiting = list(batch)
    while waiting:
        task_id = waiting.pop()
        for needed in edges[task_id]:
            if needed == task_id and task_id in batch:
                raise _refusal(f"task {quote(task_id)} depends on itself")
            if needed in edges:
                continue
            further = known(needed)
            if further is None and task_id in batch:
                message = f"task {quote(task_id)} depends on {quote(needed)}, which does not exist"
                meant = closest(needed, batch)
                raise _refusal(message, f"did you mean {quote(meant)}?" if meant else _HINT)
            edges[needed] = tuple(further or ())
            waiting.append(needed)
    for component in digraphs.cyclic_components(edges):
        inside = set(component)
        if not inside.isdisjoint(batch):
            inner = {i: [needed for needed in edges[i] if needed in inside] for i in component}
            cycle = digraphs.shortest_cycle(inner, min(inside.intersection(batch)))
            message = f"dependency cycle: {printable(cycle_text(cycle))}"
            raise _refusal(message, "remove one of these dependencies")


def _refusal(message: str, hint: str = "") -> BadInput:
    return BadInput(message, code="TASK_DEPENDENCY", field="dependencies", hint=hint)
