"""What must hold for a file that was made by hand: its folder, its moments, and the way to its status."""

from __future__ import annotations

from dibs.core.tasks.graph import unmet
from dibs.core.tasks.rules import FINISHED, OPEN, TRANSITIONS, Status, Task, next_statuses
from dibs.core.text.names import quote
from dibs.services.state.tasks import status_of
from dibs.services.tasks.texts import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.tasks.values import HandMade

#: States that may be passed over by hand, and the moment that shows that the task was in them.
_PASSED = {Status.ASSIGNED: "assigned", Status.IN_PROGRESS: "started"}
#: States in which a task is with somebody.
_NEED_AGENT = frozenset({Status.ASSIGNED, Status.IN_PROGRESS, Status.IN_REVIEW})


class Refusal(Exception):
    """Why a file is not accepted."""

    def __init__(
        self, message: str, field: str = "", line: int = 0, *, code: str, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.line, self.hint = code, message, field, line, hint


def dated(task: Task, now: float, old: Task | None = None) -> Task:
    """Return a task with the moment of its state, where the file has none."""
    before = None if old is None else old.status
    if task.status == Status.ASSIGNED and not task.assigned:
        return task._replace(assigned=now)
    if task.status == Status.IN_PROGRESS and not task.started:
        return task._replace(started=now, assigned=task.assigned or now)
    if task.status in {Status.DONE, Status.CANCELLED} and not task.completed:
        return task._replace(completed=max(now, task.started))
    if task.status in OPEN and before not in {None, *OPEN}:
        # It is to be done anew.
        return task._replace(started=0.0, completed=0.0)
    return task


def check_place(made: HandMade, task: Task) -> None:
    """Refuse a file whose folder is not that of its status and agent."""
    if task.status in _NEED_AGENT and not task.agent:
        message = f"the status is {task.status}, but no agent is named"
        raise Refusal(
            message, "status", hint="write `agent`, or `status: new`", code="TASK_MISMATCH"
        )
    place = place_of(task)
    if made.place == place:
        return
    parts = made.place.split("/")
    if place.startswith("assigned/") and parts[0] == "assigned":
        message = f"the agent is {quote(task.agent)}, but the file lies in {made.place}"
        raise Refusal(
            message, "agent", hint=f"move it to {place}, or change `agent`", code="TASK_MISMATCH"
        )
    message = f"the status is {task.status}, but the file lies in {made.place}"
    raise Refusal(
        message, "status", hint=f"move it to {place}, or change `status`", code="TASK_MISMATCH"
    )


def check_way(rows: Rows, old: Task, task: Task) -> None:
    """Refuse a step that the table does not have, and one that only a command makes."""
    if old.status in FINISHED:
        message = f"it was {old.status}, and is {task.status} now"
        raise Refusal(message, "status", hint=f"dibs task reopen {old.id}", code="TASK_TRANSITION")
    if not _leads(old.status, task):
        ways = ", ".join(next_statuses(old.status)) or "nothing"
        passed = _missing(old.status, task)
        hint = f"write {passed} to pass over a state" if passed else ""
        message = f"it was {old.status}; from there it becomes {ways}, not {task.status}"
        raise Refusal(message, "status", hint=hint, code="TASK_TRANSITION")
    if task.status == Status.IN_PROGRESS:
        waits = unmet(task, lambda id_: status_of(rows, id_))
        if waits:
            said = ", ".join(f"{id_} ({status})" for id_, status in waits[:5])
            message = f"it cannot begin: it waits for {said}"
            raise Refusal(message, "dependencies", code="TASK_DEPENDENCY")


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


def _missing(status: str, task: Task) -> str:
    """Return the moment that would let a file pass over a state, if one would."""
    if status in OPEN and not task.started and _leads(status, task._replace(started=1.0)):
        return "started_at"
    return ""
