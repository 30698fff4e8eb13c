"""Files of the archive that the rows do not know: put there by hand, or before the store was lost."""

from __future__ import annotations

import re

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.state.tasks import Past, Stored, digest, past, refresh_dependents, retire
from dibs.services.tasks.texts import moment
from dibs.taskfile.writing import changes_for, edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.tasks.rules import Task
    from dibs.services.tasks.texts import TaskWriter
    from dibs.services.tasks.values import HandMade

#: How a task can end; both are archived.
_ENDS = frozenset({Status.DONE, Status.CANCELLED})
_MONTH = re.compile(r"archive/\d{4}-\d{2}")


def adopt(teller: TaskWriter, made: HandMade, old: Stored | None, task: Task) -> Stored:
    """Note a task as archived whose file lies in the archive; what it depended on need not be known."""
    rows = teller.rows
    _check(made, old, task)
    known = past(rows, made.id)
    if known is not None and old is None:
        message = f"a task {quote(known.id)} is in {known.place} already"
        raise BadInput(message, code="TASK_EXISTS", field="id", hint="give the file another name")
    ended = _ended(old, task, made.reading.text)
    completed = task.completed or (old.task.completed if old else 0.0) or moment(rows.now)
    after = task._replace(status=Status.ARCHIVE, completed=completed)
    text = edit(made.reading.text, changes_for(task, after))
    number = rows.emit(
        teller.agent, teller.role, Kind.TASK_ARCHIVED, f"{made.id} was found in {made.place}",
        task=made.id, was=ended, status=Status.ARCHIVE, agent=task.agent, place=made.place,
        by_hand=True,
    )  # fmt: skip
    doer = (old.doer if old else "") or (task.agent if ended == Status.DONE else "")
    row = Past(
        made.id, made.file, ended, made.place, task.title, task.agent, doer, completed, digest(text), number,
    )  # fmt: skip
    retire(rows, row, old)
    refresh_dependents(rows, made.id)
    return Stored(after, made.file, made.place, text, number)


def _check(made: HandMade, old: Stored | None, task: Task) -> None:
    if not _MONTH.fullmatch(made.place) or task.status not in {*_ENDS, Status.ARCHIVE}:
        raise BadInput(
            f"the status is {task.status}, but the file lies in {made.place}",
            code="TASK_MISMATCH",
            field="status",
            hint="only what is done or cancelled is archived, by month: archive/2025-11",
        )
    if old is not None and old.task.status not in _ENDS and not task.completed:
        raise BadInput(
            f"it was {old.task.status}; from there it is not archived",
            code="TASK_TRANSITION",
            field="status",
            hint="write completed_at if it is done",
        )


def _ended(old: Stored | None, task: Task, text: str) -> str:
    """Return how a task ended. An archived file does not say; only what was done has a result."""
    if task.status in _ENDS:
        return task.status
    if old is not None and old.task.status in _ENDS:
        return old.task.status
    done = any(line.startswith("result:") for line in text.split("\n"))
    return Status.DONE if done else Status.CANCELLED
