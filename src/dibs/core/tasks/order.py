"""Who may take a task, and which of several comes first.

Pure.
"""

from __future__ import annotations

from dibs.core.tasks.rules import PRIORITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.core.tasks.rules import Task

_PLACES = {priority: place for place, priority in enumerate(PRIORITIES)}

#: How near a task is to a caller, the nearest first.
NAMED, KIN, ROLE, ANYBODY = range(4)


def eligible(task: Task, caller: str, roles: Container[str]) -> bool:
    """Tell whether a task is for this caller: for nobody in particular, for it, or for a role of its."""
    return not task.agent or task.agent == caller or task.agent in roles


def urgency(priority: str) -> int:
    """Return the rank of a priority, 0 for the most urgent; one that is not known counts as normal."""
    return _PLACES.get(priority, _PLACES["normal"])


def affinity(task: Task, caller: str, roles: Container[str], kin: Container[str]) -> int:
    """Return how near a task is to a caller; ``kin`` are the tasks that it finished itself."""
    if task.agent and task.agent == caller:
        return NAMED
    if any(needed in kin for needed in task.dependencies):
        return KIN
    return ROLE if task.agent and task.agent in roles else ANYBODY


def rank(
    task: Task, caller: str, roles: Container[str], kin: Container[str]
) -> tuple[int, int, float, str]:
    """Return the place of a task among those that a caller may take; the smallest is taken first."""
    near = affinity(task, caller, roles, kin)
    return urgency(task.priority), near, task.created, task.id
