"""What must hold for a file that was made by hand: its folder, its moments, and the way to its status.

A status and its folder must agree, and the step from what the row says must be in the table of moves. A state
may be passed over by hand if the file carries its moment. A file that breaks a rule raises ``BadInput``.
"""

from __future__ import annotations

import re

from dibs.core.tasks.graph import unmet
from dibs.core.tasks.rules import FINISHED, OPEN, TRANSITIONS, Status, Task, next_statuses
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.state.tasks import status_of
from dibs.services.tasks.texts import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.tasks import Past, Stored
    from dibs.services.tasks.values import HandMade

#: States that may be passed over by hand, and the moment that shows that the task was in them.
_PASSED = {Status.ASSIGNED: "assigned", Status.IN_PROGRESS: "started"}
#: States in which a task is with somebody.
_NEED_AGENT = frozenset({Status.ASSIGNED, Status.IN_PROGRESS, Status.IN_REVIEW})
#: How a task can end; both are archived.
ENDS = frozenset({Status.DONE, Status.CANCELLED})
_MONTH = re.compile(r"archive/\d{4}-\d{2}")
#: Other names of fields in files.
_SPELLINGS = {
    "agent": ("assigned_to",),
    "dependencies": ("context", "depends_on", "blocked_by"),
    "id": ("task_id",),
}


def refusal(code: str, message: str, field: str, hint: str = "") -> BadInput:
    """Return why a file is not accepted."""
    return BadInput(message, code=code, field=field, hint=hint)


def stale(old: Stored, field: str) -> BadInput:
    """Return the refusal of a file whose own result the row has moved past."""
    message = f"the task has moved on and is {old.task.status}; the file has a result of its own"
    hint = "the file is kept; write what is still right into the task's file"
    return refusal("TASK_STALE", message, field, hint)


def dated(task: Task, now: float, old: Task | None = None) -> Task:
    """Return a task with the moment of its state, where the file has none."""
    before = None if old is None else old.status
    if task.status == Status.ASSIGNED and not task.assigned:
        return task._replace(assigned=now)
    if task.status == Status.IN_PROGRESS and not task.started:
        return task._replace(started=now, assigned=task.assigned or now)
    if task.status in ENDS and not task.completed:
        return task._replace(completed=max(now, task.started))
    if task.status in OPEN and before not in {None, *OPEN}:
        return task._replace(started=0.0, completed=0.0)  # it is to be done anew
    return task


def check_unused(ended: Past | None) -> None:
    """Refuse the name of a task that is archived."""
    if ended is not None:
        message = f"a task {quote(ended.id)} is in {ended.place} already"
        raise refusal("TASK_EXISTS", message, "id", "give the file another name")


def check_place(made: HandMade, task: Task) -> None:
    """Refuse a file whose folder is not that of its status and agent."""
    if task.status in _NEED_AGENT and not task.agent:
        message = f"the status is {task.status}, but no agent is named"
        raise refusal("TASK_MISMATCH", message, "status", "write `agent`, or `status: new`")
    place = place_of(task)
    if made.place == place:
        return
    field, said = "status", f"the status is {task.status}"
    if place.startswith("assigned/") and made.place.split("/")[0] == "assigned":
        field, said = "agent", f"the agent is {quote(task.agent)}"
    hint = f"move it to {place}, or change `{field}`"
    raise refusal("TASK_MISMATCH", f"{said}, but the file lies in {made.place}", field, hint)


def check_archived(made: HandMade, old: Stored | None, task: Task) -> None:
    """Refuse a file in the archive that is not finished, or that the archive has no folder for."""
    if not _MONTH.fullmatch(made.place) or task.status not in {*ENDS, Status.ARCHIVE}:
        message = f"the status is {task.status}, but the file lies in {made.place}"
        hint = "only what is done or cancelled is archived, by month: archive/2025-11"
        raise refusal("TASK_MISMATCH", message, "status", hint)
    if old is not None and old.task.status not in ENDS and not task.completed:
        message = f"it was {old.task.status}; from there it is not archived"
        hint = "write completed_at if it is done"
        raise refusal("TASK_TRANSITION", message, "status", hint)


def ended_as(old: Stored | None, task: Task, text: str) -> str:
    """Return how a task in the archive ended. Its file does not say; only what was done has a result."""
    for status in (task.status, old.task.status if old is not None else ""):
        if status in ENDS:
            return status
    done = any(line.startswith("result:") for line in text.split("\n"))
    return Status.DONE if done else Status.CANCELLED


def check_way(rows: Rows, old: Task, task: Task) -> None:
    """Refuse a step that the table does not have, and one that only a command makes."""
    if old.status in FINISHED:
        message = f"it was {old.status}, and is {task.status} now"
        raise refusal("TASK_TRANSITION", message, "status", f"dibs task reopen {old.id}")
    if not _leads(old.status, task):
        ways = ", ".join(next_statuses(old.status)) or "nothing"
        would = old.status in OPEN and not task.started
        passes = would and _leads(old.status, task._replace(started=1.0))
        hint = "write started_at to pass over a state" if passes else ""
        message = f"it was {old.status}; from there it becomes {ways}, not {task.status}"
        raise refusal("TASK_TRANSITION", message, "status", hint)
    if task.status == Status.IN_PROGRESS:
        waits = unmet(task, lambda id_: status_of(rows, id_))
        if waits:
            said = ", ".join(f"{id_} ({status})" for id_, status in waits[:5])
            message = f"it cannot begin: it waits for {said}"
            raise refusal("TASK_DEPENDENCY", message, "dependencies")


def _leads(status: str, task: Task) -> bool:
    """Tell whether the table leads to a task's status, over states whose moments the file carries."""
    reached, waiting = {status}, [status]
    while waiting:
        here = waiting.pop()
        for step in TRANSITIONS:
            if step.source != here or step.target in reached:
                continue
            if step.target == task.status:
                return True
            passed = _PASSED.get(step.target)
            if passed is not None and getattr(task, passed) and here in OPEN:
                reached.add(step.target)
                waiting.append(step.target)
    return False


def line_of(text: str, field: str) -> int:
    """Return the line of a key at the top of a text, 0 if it has none."""
    names = {field, *_SPELLINGS.get(field, ())}
    for number, row in enumerate(text.split("\n"), 1):
        if field and row.partition(":")[0] in names:
            return number
    return 0
