"""Whether tasks that come together can ever be done, before any of them is on the board.

Pure.
"""

from __future__ import annotations

from dibs.core.tasks import digraphs
from dibs.core.tasks.graph import circle_text
from dibs.core.text.names import closest, printable, quote
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.core.tasks.rules import Task

_HINT = "put it on the board first, or give both in one file: dibs task import"


def check_new(tasks: Iterable[Task], known: Callable[[str], Iterable[str] | None]) -> None:
    """Refuse tasks that wait for themselves, in a circle, or for one that is not known (``TASK_DEPENDENCY``).

    They may name each other in any order. ``known`` gives the dependencies of a task on the board, nothing
    for a finished or archived one, and None where there is no task of that id. A task of the batch stands for
    the one on the board that has its id. What is wrong with the board already is no fault of the batch.
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
                message = f"task {quote(task_id)} depends on {quote(needed)}, which is not known"
                meant = closest(needed, batch)
                raise _refusal(message, f"did you mean {quote(meant)}?" if meant else _HINT)
            edges[needed] = tuple(further or ())
            waiting.append(needed)
    for knot in digraphs.knots(edges):
        inside = set(knot)
        if not inside.isdisjoint(batch):
            inner = {i: [needed for needed in edges[i] if needed in inside] for i in knot}
            circle = digraphs.shortest_circle(inner, min(inside.intersection(batch)))
            message = f"tasks wait for each other in a circle: {printable(circle_text(circle))}"
            raise _refusal(message, "leave out one of these dependencies")


def _refusal(message: str, hint: str = "") -> BadInput:
    return BadInput(message, code="TASK_DEPENDENCY", field="dependencies", hint=hint)
