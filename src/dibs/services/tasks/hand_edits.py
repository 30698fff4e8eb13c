"""Files that people make, edit and move by hand: what they mean for the rows, or why they cannot be meant.

A file's status and its folder must agree, and the step from what the row says must be in the table of moves.
A state may be passed over by hand if the file carries its moment. While an attempt runs only the content of a
file is changed by hand. Nothing here touches a file; what is refused stays where it lies.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.batch import check_new
from dibs.core.tasks.rules import ARCHIVE, FINISHED, OPEN, Status, Task
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.state.keys import TOLD_ASIDE
from dibs.services.state.presence import arrive, role_of
from dibs.services.state.task_index import forget_report, report
from dibs.services.state.tasks import Stored, digest, load, past, standing
from dibs.services.state.tasks import hold_back as hold
from dibs.services.tasks.attempts import live_claim, no_attempt
from dibs.services.tasks.create import filled_in, needs_of
from dibs.services.tasks.hand_edit_archive import adopt
from dibs.services.tasks.hand_edit_rules import Refusal, check_place, check_way, dated
from dibs.services.tasks.texts import TaskWriter, moment, place_of
from dibs.services.tasks.values import HandEditVerdict
from dibs.startup.records import Record
from dibs.taskfile.reading import late_times
from dibs.taskfile.writing import changes_for, edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.values import HandMade

#: Fields that the board writes: where a row has moved on, they are the row's.
OWNED = (
    *("status", "agent", "assigned", "started", "completed"),
    *("summary", "made", "handoff", "error", "retries", "reason"),
)
#: Those of them that hold somebody's words: they are not dropped without a word.
_SAID = ("summary", "made", "handoff", "error")
#: Which entry says that a file was put into a state by hand.
_KINDS = {
    Status.ASSIGNED: Kind.TASK_ASSIGNED,
    Status.IN_PROGRESS: Kind.TASK_STARTED,
    Status.IN_REVIEW: Kind.TASK_REVIEWED,
    Status.DONE: Kind.TASK_COMPLETED,
    Status.ERROR: Kind.TASK_FAILED,
    Status.CANCELLED: Kind.TASK_CANCELLED,
    Status.BLOCKED: Kind.TASK_BLOCKED,
}


class _Batch(Record):
    """What all files of one call have in common."""

    store: Store
    rows: Rows
    teller: TaskWriter
    #: The dependencies that the files of the batch name, by id.
    needs: dict[str, tuple[str, ...]]


def accept(
    store: Store, rows: Rows, caller: Caller, hand_made: Sequence[HandMade]
) -> list[HandEditVerdict]:
    """Take each file in, or say why not; those that depend on each other may come in any order."""
    if not hand_made:
        return []
    teller = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    tasks = [made.reading.task for made in hand_made]
    needs = {task.id: task.dependencies for task in tasks if task is not None}
    batch = _Batch(store, rows, teller, needs)
    verdicts = []
    for made in hand_made:
        old = load(rows, made.id)
        if made.seen >= 0 and made.seen != (old.version if old is not None else 0):
            verdicts.append(HandEditVerdict(made.id, made.place, None))
            continue
        try:
            stored = _accepted(batch, made, old)
        except Refusal as no:
            verdicts.append(_refused(batch, made, no))
        else:
            forget_report(rows, TOLD_ASIDE, made.id)
            verdicts.append(HandEditVerdict(made.id, made.place, stored))
    return verdicts


def hold_back(rows: Rows, caller: Caller, reasons: Mapping[str, str]) -> None:
    """Keep tasks from being handed out whose files stand aside, by id and reason; "" ends that."""
    for id_, why in reasons.items():
        row = load(rows, id_)
        if row is None or row.aside == why or row.task.status not in OPEN:
            continue
        if hold(rows, row, why).ready:
            # Whoever waits for a task is woken by an entry.
            said = f"the file of {row.id} is in line again"
            rows.emit(caller.id, role_of(rows, caller.id), Kind.TASK_EDITED, said, task=row.id)


def _accepted(batch: _Batch, made: HandMade, old: Stored | None) -> Stored:
    task = made.reading.task
    if task is None:
        remark = made.reading.remarks[0]
        raise Refusal(remark.message, remark.field, remark.line, code=remark.code)
    for late in late_times(task, batch.rows.now):
        raise Refusal(late.message, late.field, code=late.code)
    if made.place.split("/")[0] == ARCHIVE:
        return _archived(batch, made, old, task)
    if old is None:
        return _new(batch, made, task)
    if old.id != made.id or old.file.lower() != made.file.lower():
        raise Refusal(
            f"the task {quote(old.id)} has the file {old.file} already", "id", code="TASK_EXISTS"
        )
    return _changed(batch, made, old, task)


# -- a file that is not known


def _new(batch: _Batch, made: HandMade, task: Task) -> Stored:
    rows, now = batch.rows, moment(batch.rows.now)
    ended = past(rows, made.id)
    if ended is not None:
        message = f"a task {quote(ended.id)} is in {ended.place} already"
        raise Refusal(message, "id", hint="give the file another name", code="TASK_EXISTS")
    task = task if task.created else task._replace(created=now)
    if task.dependencies:
        _check_dependencies(batch, task)
    after = dated(task, now)
    check_place(made, after)
    text = edit(made.reading.text, changes_for(made.reading.task or task, after))
    row = filled_in(rows, text, after, made.file, "")
    asked = "" if after.status == Status.CANCELLED else after.agent
    changes = {"place": made.place, "asked": asked, **_standing(row, after)}
    if _of_another_life(rows, made):
        said = f"{made.place}/{made.file} was taken in again: the store had lost the task"
        changes |= {"survived": made.life, "outlived": made.base}
    else:
        said = f"{made.place}/{made.file} was dropped by hand"
    row = row._replace(**changes)
    return batch.teller.write(None, row, Kind.TASK_ADDED, said, {"by_hand": True}, adopts=True)


def _archived(batch: _Batch, made: HandMade, old: Stored | None, task: Task) -> Stored:
    """Take in a file that lies in the archive without the row saying so."""
    if old is not None:
        _check_held(batch, old, task)
        ends = old.task.status in FINISHED or _rests(old)
        if not ends and _is_behind(batch.rows, made, old):
            raise _stale(old, "status")
    try:
        return adopt(batch.teller, made, old, task)
    except BadInput as error:
        raise Refusal(error.message, error.field, code=error.code, hint=error.hint) from None


# -- a file that is


def _changed(batch: _Batch, made: HandMade, old: Stored, task: Task) -> Stored:
    """Take in an edit or a move of a file that the board wrote."""
    if _is_later(batch.rows, made, old):
        return _survived(batch, made, old, task)
    if _is_behind(batch.rows, made, old):
        return _merged(batch, made, old, task)
    _check_held(batch, old, task)
    if task.dependencies != old.task.dependencies:
        _check_dependencies(batch, task)
    if task.status != old.task.status:
        check_way(batch.rows, old.task, task)
    after = dated(task, moment(batch.rows.now), old.task)
    check_place(made, after)
    return _write_edit(batch, made, old, after)


def _check_held(batch: _Batch, old: Stored, task: Task) -> None:
    """Refuse another status or agent while somebody works on a task."""
    held = live_claim(batch.store, batch.rows, old.id) if old.token else None
    if held is not None and (task.status, task.agent) != (old.task.status, old.task.agent):
        raise Refusal(
            f"{held.agent} works on it: status and agent are not changed by hand",
            "status" if task.status != old.task.status else "agent",
            hint="`dibs task done`, or a human says `dibs task cancel` or `reassign`",
            code="TASK_HELD",
        )


def _of_another_life(rows: Rows, made: HandMade) -> bool:
    """Tell whether a file shows what another store had, or this one before it lost everything."""
    return bool(made.life) and made.life != standing(rows)[1]


def _is_later(rows: Rows, made: HandMade, old: Stored) -> bool:
    """Tell whether a file shows a later state of a lost life than the row, with which nothing began since."""
    if not _of_another_life(rows, made) or old.survived != made.life:
        return False
    return old.outlived < made.base and _rests(old)


def _rests(old: Stored) -> bool:
    """Tell whether a row is as it was taken in from the file of a lost life."""
    return bool(old.survived) and old.version == old.adopted


def _is_behind(rows: Rows, made: HandMade, old: Stored) -> bool:
    """Tell whether a file was made without knowing what the row says."""
    if _of_another_life(rows, made):
        return not _is_later(rows, made, old)
    return 0 < made.base < old.version


def _survived(batch: _Batch, made: HandMade, old: Stored, task: Task) -> Stored:
    """Take in a later state of a task than the one that another machine still had of the life before."""
    after = dated(task, moment(batch.rows.now), old.task)
    check_place(made, after)
    text = edit(made.reading.text, changes_for(task, after))
    new = old._replace(task=after, text=text, place=made.place, outlived=made.base)
    new = new._replace(asked=old.asked or after.agent, **_standing(old, after))
    kind = _KINDS.get(after.status, Kind.TASK_EDITED)
    said = f"{old.id} was {after.status} when the store lost it: {made.place}/{made.file}"
    return batch.teller.write(old, new, kind, said, {"by_hand": True}, adopts=True)


def _merged(batch: _Batch, made: HandMade, old: Stored, task: Task) -> Stored:
    """Take in the edit of an older text: what the board writes comes from the row, all else from the file."""
    said = {name: value for name in _SAID if (value := getattr(task, name))}
    if any(getattr(old.task, name) != value for name, value in said.items()):
        raise _stale(old, "result" if task.status != Status.ERROR else "error")
    owned = {name: getattr(old.task, name) for name in OWNED}
    after = task._replace(**owned)
    if after.dependencies != old.task.dependencies:
        _check_dependencies(batch, after)
    return _write_edit(batch, made, old, after)


def _stale(old: Stored, field: str) -> Refusal:
    return Refusal(
        f"the task has moved on and is {old.task.status}; the file has a result of its own",
        field,
        hint="the file is kept; write what is still right into the task's file",
        code="TASK_STALE",
    )


def _write_edit(batch: _Batch, made: HandMade, old: Stored, after: Task) -> Stored:
    """Write the row of a file that was edited, with an entry if that says something new."""
    assert made.reading.task is not None
    text = edit(made.reading.text, changes_for(made.reading.task, after))
    if text == old.text and after == old.task:
        return old
    new = old._replace(task=after, text=text, place=place_of(after), aside="")
    new = new._replace(**_standing(old, after))
    moved = after.status != old.task.status
    kind = Kind.TASK_EDITED
    if moved:
        kind = _KINDS.get(after.status, Kind.TASK_REOPENED)
    elif after.agent != old.task.agent:
        kind = Kind.TASK_REASSIGNED
    said = f"{old.id} was {f'made {after.status}' if moved else 'edited'} by hand"
    return batch.teller.write(old, new, kind, said, {"by_hand": True})


def _standing(old: Stored, after: Task) -> dict[str, Any]:
    """Return what a status that was written by hand means for the rest of a row."""
    changes: dict[str, Any] = {}
    status, before = after.status, old.task.status
    if after.agent != old.task.agent and status in {*OPEN, Status.BLOCKED}:
        changes["asked"] = after.agent
    fresh = not old.version
    if status == before and not fresh:
        return changes
    changes |= no_attempt()
    if status == Status.IN_PROGRESS:
        changes["attempt"] = old.attempt + 1
    elif status in {Status.DONE, Status.IN_REVIEW}:
        changes["doer"] = old.doer or after.agent
    elif status == Status.ERROR:
        changes["failures"] = max(old.failures, after.retries) + 1
    elif status in OPEN:
        changes |= {"doer": "", "follower": "", "forgiven": old.failures}
    return changes


# -- what must hold


def _check_dependencies(batch: _Batch, task: Task) -> None:
    """Refuse what waits for itself or in a circle; what is not known yet may still come."""
    try:
        check_new([task], lambda id_: batch.needs.get(id_) or needs_of(batch.rows, id_) or ())
    except BadInput as error:
        raise Refusal(error.message, "dependencies", code=error.code, hint=error.hint) from None


# -- telling


def _refused(batch: _Batch, made: HandMade, no: Refusal) -> HandEditVerdict:
    """Return the verdict, and tell the ledger once for one content of a file."""
    line = no.line or line_of(made.reading.text, no.field)
    mark = f"{no.code} {made.place} {digest(made.reading.text)}"
    if report(batch.rows, TOLD_ASIDE, made.id, mark):
        where = f"{made.place}/{made.file}" + (f":{line}" if line else "")
        field = f"{no.field}: " if no.field else ""
        batch.rows.emit(
            batch.teller.agent, batch.teller.role, Kind.TASK_REFUSED,
            f"{where}: {field}{no.message}",
            task=made.id, place=made.place, code=no.code, line=line, field=no.field,
        )  # fmt: skip
    return HandEditVerdict(made.id, made.place, None, no.code, no.message, line, no.field, no.hint)


def line_of(text: str, field: str) -> int:
    """Return the line of a key at the top of a text, 0 if it has none."""
    names = {field, *_SPELLINGS.get(field, ())}
    for number, row in enumerate(text.split("\n"), 1):
        if field and row.partition(":")[0] in names:
            return number
    return 0


_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "agent": ("assigned_to",),
    "dependencies": ("context", "depends_on", "blocked_by"),
    "id": ("task_id",),
}
