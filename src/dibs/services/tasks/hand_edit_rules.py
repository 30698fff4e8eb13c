"""Rules for task files that are edited by hand: folder, times, and allowed transitions.

The status must match the folder, and the transition from the row's status must be in the table. A hand edit
may skip a state if the file has its time or a result. A file that breaks a rule raises ``BadInput``.
"""

from __future__ import annotations

import re

from dibs.core.tasks.graph import unmet
from dibs.core.tasks.placement import over_again
from dibs.core.tasks.rules import (
    ARCHIVE,
    DONE,
    FINISHED,
    OPEN,
    TRANSITIONS,
    Status,
    Task,
    next_statuses,
)
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.state.tasks import status_of
from dibs.services.tasks.texts import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.tasks import Past, Stored
    from dibs.services.tasks.values import EditedFile

#: States that a hand edit may skip, and the field whose time shows that the task was in them.
_PASSED = {Status.ASSIGNED: "assigned", Status.IN_PROGRESS: "started"}
#: States that require an agent.
_NEED_AGENT = frozenset({Status.ASSIGNED, Status.IN_PROGRESS})
#: States that end with a result.
_UNFINISHED = frozenset({*OPEN, Status.IN_PROGRESS})
#: How a task can end before it is archived.
ENDS = frozenset({Status.DONE, Status.CANCELLED})
_MONTH = re.compile(r"archive/\d{4}-\d{2}")
#: Other spellings of fields.
_SPELLINGS = {
    "agent": ("assigned_to",),
    "dependencies": ("context", "depends_on", "blocked_by"),
    "id": ("task_id",),
}


def refusal(code: str, message: str, field: str, hint: str = "") -> BadInput:
    """Return the error for a file that is not accepted."""
    return BadInput(message, code=code, field=field, hint=hint)


def stale(old: Stored, field: str) -> BadInput:
    """Return the error for a file with a result that the row has moved past."""
    message = f"the file has its own result, but the task is already {old.task.status}"
    hint = "the file is kept; copy what still applies into the task's current file"
    return refusal("TASK_STALE", message, field, hint)


def dated(task: Task, now: float, old: Task | None = None) -> Task:
    """Return a task with the time of its state filled in if the file has none."""
    if old is not None and task.status in OPEN and _begins(task, old):
        task = over_again(task, old)
    if task.status == Status.ASSIGNED and not task.assigned:
        return task._replace(assigned=now)
    if task.status == Status.IN_PROGRESS and not task.started:
        return task._replace(started=now, assigned=task.assigned or now)
    if task.status in ENDS and not task.completed:
        return task._replace(completed=max(now, task.started))
    return task


def _begins(task: Task, old: Task) -> bool:
    """Return whether an open task begins anew: it was not open, or has another agent."""
    return old.status not in OPEN or (task.status, task.agent) != (old.status, old.agent)


def check_unused(ended: Past | None) -> None:
    """Refuse the id of an archived task."""
    if ended is not None:
        message = f"task {quote(ended.id)} already exists in {ended.place}"
        raise refusal("TASK_EXISTS", message, "id", "rename the file")


def check_place(made: EditedFile, task: Task) -> None:
    """Refuse a file whose folder does not match its status and agent."""
    if task.status in _NEED_AGENT and not task.agent:
        message = f"status is {task.status}, but `agent` is missing"
        raise refusal("TASK_MISMATCH", message, "status", "add `agent`, or set `status: new`")
    place = place_of(task)
    if made.place == place:
        return
    field, said = "status", f"status is {task.status}"
    if place.startswith("assigned/") and made.place.split("/")[0] == "assigned":
        field, said = "agent", f"agent is {quote(task.agent)}"
    hint = f"move it to {place}, or change `{field}`"
    if made.place == DONE and task.status in _UNFINISHED:
        said, hint = "the task has no result", f"add a `result` block, or move it to {place}"
    raise refusal("TASK_MISMATCH", f"{said}, but the file is in {made.place}", field, hint)


def check_archived(made: EditedFile, task: Task) -> None:
    """Refuse an archived file that is unfinished or in a folder that is not a month."""
    if made.place != ARCHIVE and not _MONTH.fullmatch(made.place):
        message = f"{made.place} is not a month of the archive"
        raise refusal("TASK_MISMATCH", message, "status", "use a folder such as archive/2025-11")
    if task.status not in {*ENDS, Status.ARCHIVE} and not has_result(made):
        message = f"status is {task.status}, but the file is in {made.place}"
        hint = "add a `result` block if it is done, set `status: cancelled`, or move it back"
        raise refusal("TASK_MISMATCH", message, "status", hint)


def ended_as(made: EditedFile, old: Stored | None, task: Task) -> str:
    """Return how an archived task ended: if nothing says so, only a done task has a result."""
    for status in (task.status, old.task.status if old is not None else ""):
        if status in ENDS:
            return status
    return Status.DONE if has_result(made) else Status.CANCELLED


def has_result(made: EditedFile) -> bool:
    """Return whether a file has a result block."""
    return line_of(made.reading.text, "result") > 0


def check_way(rows: Rows, old: Task, task: Task) -> None:
    """Refuse a transition that is not in the table, or that only a command may make."""
    if old.status in FINISHED and task.status not in OPEN:
        message = f"a task that is {old.status} cannot become {task.status} by hand"
        raise refusal("TASK_TRANSITION", message, "status", f"run: dibs task reopen {old.id}")
    if not _leads(old.status, task):
        ways = ", ".join(next_statuses(old.status)) or "nothing"
        would = old.status in OPEN and not task.started
        passes = would and _leads(old.status, task._replace(started=1.0))
        hint = "add started_at to skip a state" if passes else ""
        message = f"a task that is {old.status} can become {ways}, not {task.status}"
        raise refusal("TASK_TRANSITION", message, "status", hint)
    if task.status == Status.IN_PROGRESS:
        waits = unmet(task, lambda id_: status_of(rows, id_))
        if waits:
            said = ", ".join(f"{id_} ({status})" for id_, status in waits[:5])
            message = f"it cannot start yet: it waits for {said}"
            raise refusal("TASK_DEPENDENCY", message, "dependencies")


def _leads(status: str, task: Task) -> bool:
    """Return whether transitions lead to a task's status, skipping states whose times the file has."""
    reached, waiting = {status}, [status]
    while waiting:
        here = waiting.pop()
        for step in TRANSITIONS:
            if step.source != here or step.target in reached:
                continue
            if step.target == task.status:
                return True
            passed = _PASSED.get(step.target)
            shown = passed and (task.status == Status.DONE or getattr(task, passed))
            if shown and here in OPEN:
                reached.add(step.target)
                waiting.append(step.target)
    return False


def line_of(text: str, field: str) -> int:
    """Return the line of a top-level key, else of a key inside a block; 0 if there is none."""
    names = {field, *_SPELLINGS.get(field, ())}
    keys = [row.partition(":")[0] for row in text.split("\n")] if field else []
    inner = (number for number, key in enumerate(keys, 1) if key.lstrip() in names)
    return next((number for number, key in enumerate(keys, 1) if key in names), next(inner, 0))
