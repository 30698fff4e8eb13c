"""What the folder of a task file says about the task, for files that someone moves with ``mv``. Pure.

A person or a script that moves a file often leaves its text alone. If the text still has the status that the
board gave it, the folder decides; if the text has a new status, the text decides and the folder must match.
"""

from __future__ import annotations

from dibs.core.tasks.rules import (
    ARCHIVE,
    ASSIGNED,
    DONE,
    FINISHED,
    INBOX,
    Status,
    Task,
    folder_of,
)

#: Statuses from which a file with a result is done when it is moved to ``done/``.
_UNFINISHED = frozenset({Status.NEW, Status.ASSIGNED, Status.IN_PROGRESS})


def meant_by(
    place: str, task: Task, old: Task | None, asked: str, *, result: bool, lags: bool = False
) -> Task:
    """Return the task that a file in ``place`` describes; the text alone says ``task``.

    ``old`` is the task as the board knows it, None if it does not know the file. ``asked`` is the agent to
    which a released task returns, and ``result`` tells whether the file has a result. The text of a file that
    ``lags`` may still have the status and the agent from before ``old``.
    """
    folder, _, owner = place.partition("/")
    if place == folder_of(task.status, task.agent) or folder == ARCHIVE:
        return task
    if folder == ASSIGNED and (lags or task.agent in {"", old.agent if old is not None else ""}):
        task = task._replace(agent=owner)
    stated = task.status != (old.status if old is not None else Status.NEW)
    if place == folder_of(task.status, task.agent) if lags else stated:
        return task  # the text has a status of its own
    if folder == DONE and result and task.status in _UNFINISHED:
        return task._replace(status=Status.DONE)
    if folder == ASSIGNED and task.agent == owner and task.status != Status.BLOCKED:
        return task._replace(status=Status.ASSIGNED)
    if folder == INBOX and old is not None:
        blocked = task.status == Status.BLOCKED
        return task._replace(agent="") if blocked else task._replace(status=Status.NEW, agent=asked)
    return task


def over_again(task: Task, old: Task) -> Task:
    """Return a task that a hand edit made available again: its new attempt has no times yet.

    A finished task also loses its result, as with ``reopen``, and a failed one its error, as with ``retry``.
    """
    assigned = task.assigned if task.assigned != old.assigned else 0.0
    task = task._replace(assigned=assigned, started=0.0, completed=0.0)
    if old.status == Status.ERROR:
        return task._replace(error="", retries=max(task.retries, old.retries + 1))
    if old.status in FINISHED:
        return task._replace(summary="", made=(), handoff=None, reason="")
    return task
