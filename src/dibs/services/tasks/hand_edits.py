"""Hand edits: what a task file that someone created, edited, or moved means for its row.

While an attempt is running, only a file's content can be changed by hand. Nothing here touches files; a
refused file stays where it is.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.batch import check_new
from dibs.core.tasks.placement import meant_by
from dibs.core.tasks.rules import ARCHIVE, FINISHED, OPEN, Status, Task
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.services.state.keys import TOLD_ASIDE
from dibs.services.state.presence import arrive, role_of
from dibs.services.state.task_index import dependents, forget_report, report
from dibs.services.state.tasks import Stored, digest, load, past, refresh_dependents, standing
from dibs.services.state.tasks import hold_back as hold
from dibs.services.tasks.attempts import live_claim, no_attempt
from dibs.services.tasks.create import filled_in, needs_of
from dibs.services.tasks.hand_edit_rules import (
    check_archived,
    check_place,
    check_unused,
    check_way,
    dated,
    ended_as,
    has_result,
    line_of,
    refusal,
    stale,
)
from dibs.services.tasks.handoffs import follow_up
from dibs.services.tasks.texts import TaskWriter, moment, place_of
from dibs.services.tasks.values import HandEditVerdict
from dibs.taskfile.reading import late_times
from dibs.taskfile.writing import changes_for, edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.tasks.values import EditedFile

#: Fields that the board writes: if the row is newer than the file, the row's values win.
OWNED = (
    *("status", "agent", "assigned", "started", "completed"),
    *("summary", "made", "handoff", "error", "retries", "reason"),
)
#: Those that contain what someone wrote, and must not be dropped silently.
_SAID = ("summary", "made", "handoff", "error")
#: States of a task that someone has begun.
_BEGUN = frozenset({Status.IN_PROGRESS, Status.DONE, Status.ERROR})
#: The ledger kind for each state that a file was put into by hand.
_KINDS = {
    Status.ASSIGNED: Kind.TASK_ASSIGNED,
    Status.IN_PROGRESS: Kind.TASK_STARTED,
    Status.DONE: Kind.TASK_COMPLETED,
    Status.ERROR: Kind.TASK_FAILED,
    Status.CANCELLED: Kind.TASK_CANCELLED,
    Status.BLOCKED: Kind.TASK_BLOCKED,
}


def accept(
    store: Store, rows: Rows, caller: Caller, edited_files: Sequence[EditedFile]
) -> list[HandEditVerdict]:
    """Accept each file, or say why not; files may depend on each other in any order."""
    if not edited_files:
        return []
    edits = _HandEdits(store, rows, caller, edited_files)
    return edits.with_follow_ups([edits.verdict(made) for made in edited_files])


def hold_back(rows: Rows, caller: Caller, reasons: Mapping[str, str]) -> None:
    """Make tasks unavailable while their files are set aside; maps ids to reasons, "" to end it."""
    for id_, why in reasons.items():
        row = load(rows, id_)
        if row is None or row.aside == why or row.task.status not in OPEN:
            continue
        if hold(rows, row, why).ready:
            # A ledger entry wakes agents that wait for a task.
            said = f"the file of {row.id} is valid again"
            rows.emit(caller.id, role_of(rows, caller.id), Kind.TASK_EDITED, said, task=row.id)


def withdraw(rows: Rows, caller: Caller, old: Stored, new: str) -> Stored | None:
    """Cancel a task that nobody has begun and nothing needs, because its file is now named ``new``."""
    found = load(rows, old.id)
    if found is None or found.version != old.version or dependents(rows, old.id):
        return None
    writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
    reason = f"renamed to {new}"
    end = max(moment(rows.now), old.task.created)
    after = old.task._replace(status=Status.CANCELLED, completed=end, reason=reason)
    said = f"{old.id} was {reason} by hand"
    details = {"by_hand": True, "reason": reason}
    return writer.move(old, "cancel", after, Kind.TASK_CANCELLED, said, details=details)


class _HandEdits:
    """The hand edits of one call, inside one transaction."""

    def __init__(
        self, store: Store, rows: Rows, caller: Caller, edited_files: Sequence[EditedFile]
    ) -> None:
        self._store = store
        self._rows = rows
        self._writer = TaskWriter(rows, caller.id, arrive(rows, caller).role)
        self._now = moment(rows.now)
        tasks = [made.reading.task for made in edited_files]
        #: The dependencies that the files name, by id.
        self._needs = {task.id: task.dependencies for task in tasks if task is not None}

    def verdict(self, made: EditedFile) -> HandEditVerdict:
        """Accept one file, or say why not."""
        old = load(self._rows, made.id)
        if made.seen >= 0 and made.seen != (old.version if old is not None else 0):
            return HandEditVerdict(made.id, made.place, None)
        try:
            stored = self._accepted(made, old)
        except BadInput as refused:
            return self._refused(made, refused)
        forget_report(self._rows, TOLD_ASIDE, made.id)
        return HandEditVerdict(made.id, made.place, stored)

    def with_follow_ups(self, verdicts: list[HandEditVerdict]) -> list[HandEditVerdict]:
        """Create the follow-ups of tasks that are now done; one of the files may be the follow-up."""
        for at, verdict in enumerate(verdicts):
            stored = verdict.stored
            if stored and stored.task.status == Status.DONE and stored.task.handoff:
                new = follow_up(self._writer, stored)
                again = load(self._rows, stored.id)
                verdicts[at] = verdict._replace(stored=again, follower=new.id if new else "")
        return verdicts

    def _refused(self, made: EditedFile, why: BadInput) -> HandEditVerdict:
        """Return the refusal, and record it in the ledger once per content of the file."""
        read = made.reading
        line = 0 if read.task is not None else read.remarks[0].line
        line = line or line_of(read.text, why.field)
        mark = f"{why.code} {made.place} {digest(read.text)}"
        if report(self._rows, TOLD_ASIDE, made.id, mark):
            where = f"{made.place}/{made.file}" + (f":{line}" if line else "")
            field = f"{why.field}: " if why.field else ""
            self._rows.emit(
                self._writer.agent, self._writer.role, Kind.TASK_REFUSED,
                f"{where}: {field}{why.message}",
                task=made.id, place=made.place, code=why.code, line=line, field=why.field,
            )  # fmt: skip
        return HandEditVerdict(
            made.id, made.place, None, why.code, why.message, line, why.field, why.hint
        )

    def _accepted(self, made: EditedFile, old: Stored | None) -> Stored:
        task = made.reading.task
        if task is None:
            remark = made.reading.remarks[0]
            raise refusal(remark.code, remark.message, remark.field)
        for late in late_times(task, self._rows.now, old.task if old is not None else None):
            raise refusal(late.code, late.message, late.field)
        if made.place.split("/")[0] == ARCHIVE:
            return self._archived(made, old, task)
        if old is None:
            return self._new(made, task)
        if old.id != made.id or old.file.lower() != made.file.lower():
            message = f"task {quote(old.id)} already has the file {old.file}"
            raise refusal("TASK_EXISTS", message, "id")
        if self._is_later(made, old):
            return self._survived(made, old, task)
        if self._is_behind(made, old):
            return self._merged(made, old, task)
        return self._changed(made, old, task)

    # -- unknown files

    def _new(self, made: EditedFile, task: Task) -> Stored:
        check_unused(past(self._rows, made.id))
        if not task.created:  # it existed at the earliest time in it
            times = (self._now, task.assigned, task.started, task.completed)
            task = task._replace(created=min(time for time in times if time))
        task = meant_by(made.place, task, None, "", result=has_result(made))
        self._check_dependencies(task)
        after = dated(task, self._now)
        check_place(made, after)
        row = filled_in(self._rows, _text(made, after), after, made.file, "")
        asked = "" if after.status == Status.CANCELLED else after.agent
        changes = {"place": made.place, "asked": asked, **_standing(row, after)}
        changes["earlier"] = _earlier(made, row)
        if self._of_another_life(made):
            said = f"{made.place}/{made.file} was read again because the store had lost the task"
            changes |= {"survived": made.life, "outlived": made.base}
        else:
            said = f"{made.place}/{made.file} was added {_hand(made)}"
        row = row._replace(**changes)
        return self._writer.write(None, row, Kind.TASK_ADDED, said, _facts(made), adopts=True)

    def _archived(self, made: EditedFile, old: Stored | None, task: Task) -> Stored:
        """Accept an archived file that was put there by hand, or before the store was lost.

        Its dependencies need not exist.
        """
        check_archived(made, task)
        if old is not None:
            self._check_held(old, task._replace(status=Status.ARCHIVE))
            ends = old.task.status in FINISHED or _rests(old)
            if not ends and self._is_behind(made, old):
                raise stale(old, "status")
        else:
            check_unused(past(self._rows, made.id))
        ended = ended_as(made, old, task)
        completed = task.completed or (old.task.completed if old else 0.0) or self._now
        after = task._replace(status=Status.ARCHIVE, completed=completed)
        doer = (old.doer if old else "") or (task.agent if ended == Status.DONE else "")
        place = made.place if made.place != ARCHIVE else place_of(after)
        new = Stored(after, made.file, place, _text(made, after), 0, doer=doer)
        if old is not None and ended == Status.DONE:
            done = new._replace(asked=old.asked, follower=old.follower)
            follow_up(self._writer, done, stays=False)
        said = f"{made.id} was archived {_hand(made)} in {place}"
        new = self._writer.archive(new, ended, old, said, **_facts(made))
        refresh_dependents(self._rows, made.id)
        return new

    # -- known files

    def _changed(self, made: EditedFile, old: Stored, task: Task) -> Stored:
        """Accept an edit or a move of a file that the board wrote."""
        result = has_result(made)
        task = meant_by(made.place, task, old.task, old.asked, result=result, lags=made.lags)
        self._check_held(old, task)
        if task.dependencies != old.task.dependencies:
            self._check_dependencies(task)
        if task.status != old.task.status:
            check_way(self._rows, old.task, task)
        after = dated(task, self._now, old.task)
        check_place(made, after)
        return self._write(made, old, after)

    def _survived(self, made: EditedFile, old: Stored, task: Task) -> Stored:
        """Accept a later state of a task than another machine had before the store was lost."""
        after = dated(task, self._now, old.task)
        check_place(made, after)
        text = _text(made, after)
        new = old._replace(task=after, text=text, place=made.place, outlived=made.base)
        new = new._replace(earlier=_earlier(made, new))
        standing = {"asked": old.asked or after.agent, **_standing(old, after)}
        new = new._replace(**standing)
        kind = _KINDS.get(after.status, Kind.TASK_EDITED)
        said = f"{old.id} was restored as {after.status} from {made.place}/{made.file}"
        return self._writer.write(old, new, kind, said, _facts(made), adopts=True)

    def _merged(self, made: EditedFile, old: Stored, task: Task) -> Stored:
        """Accept an edit of an older text; fields that the board writes come from the row."""
        said = {name: value for name in _SAID if (value := getattr(task, name))}
        if any(getattr(old.task, name) != value for name, value in said.items()):
            raise stale(old, "result" if task.status != Status.ERROR else "error")
        after = task._replace(**{name: getattr(old.task, name) for name in OWNED})
        if after.dependencies != old.task.dependencies:
            self._check_dependencies(after)
        return self._write(made, old, after)

    def _write(self, made: EditedFile, old: Stored, after: Task) -> Stored:
        """Write the row of an edited file, with a ledger entry if something changed."""
        text = _text(made, after)
        if text == old.text and after == old.task:
            return old
        new = old._replace(task=after, text=text, place=place_of(after), aside="")
        new = new._replace(earlier=_earlier(made, new))
        new = new._replace(**_standing(old, after))
        change = "edited"
        if after.status != old.task.status:
            change = f"set to {after.status}"
        elif after.agent != old.task.agent:
            change = f"assigned to {after.agent or 'anyone'}"
        said = f"{old.id} was {change} {_hand(made)}"
        return self._writer.write(old, new, _kind(old.task, after), said, _facts(made))

    # -- checks

    def _check_held(self, old: Stored, task: Task) -> None:
        """Refuse a new status or agent while an agent holds the task."""
        held = live_claim(self._store, self._rows, old.id) if old.token else None
        if held is not None and (task.status, task.agent) != (old.task.status, old.task.agent):
            raise refusal(
                "TASK_HELD",
                f"{held.agent} holds the task: its status and agent cannot be changed by hand",
                "status" if task.status != old.task.status else "agent",
                "finish it with `dibs task done`, or a human runs `dibs task cancel` or `dibs task reassign`",
            )

    def _check_dependencies(self, task: Task) -> None:
        """Refuse dependency cycles; dependencies that do not exist yet are allowed."""
        if task.dependencies:
            check_new([task], lambda id_: self._needs.get(id_) or needs_of(self._rows, id_) or ())

    def _of_another_life(self, made: EditedFile) -> bool:
        """Return whether a file was written from another store, or from this one before it lost its state."""
        return bool(made.life) and made.life != standing(self._rows)[1]

    def _is_later(self, made: EditedFile, old: Stored) -> bool:
        """Return whether a file shows a later state, from a lost life, than its unchanged row."""
        if not self._of_another_life(made) or old.survived != made.life:
            return False
        return old.outlived < made.base and _rests(old)

    def _is_behind(self, made: EditedFile, old: Stored) -> bool:
        """Return whether a file was edited without knowing the row's current state."""
        if self._of_another_life(made):
            return not self._is_later(made, old)
        return 0 < made.base < old.version


def _rests(old: Stored) -> bool:
    """Return whether a row is unchanged since it was read from a file of a lost life."""
    return bool(old.survived) and old.version == old.adopted


def _hand(made: EditedFile) -> str:
    """Return how a change was made, and by whom if that is known."""
    return f"by hand by {made.by}" if made.by else "by hand"


def _facts(made: EditedFile) -> dict[str, Any]:
    """Return the ledger details of a hand edit."""
    more = {"by": made.by} if made.by else {}
    return {"by_hand": True, **more, **({"committed": True} if made.committed else {})}


def _kind(old: Task, after: Task) -> str:
    """Return the ledger kind of a hand edit: that of the command with the same effect."""
    if after.status == old.status:
        return Kind.TASK_EDITED if after.agent == old.agent else Kind.TASK_REASSIGNED
    if after.status not in OPEN or old.status == Status.NEW:
        return _KINDS[after.status]
    released = old.status in {Status.ASSIGNED, Status.IN_PROGRESS}
    return Kind.TASK_RETURNED if released else Kind.TASK_REOPENED


def _text(made: EditedFile, after: Task) -> str:
    """Return a file's text for the task ``after``."""
    assert made.reading.task is not None
    return edit(made.reading.text, changes_for(made.reading.task, after))


def _earlier(made: EditedFile, new: Stored) -> tuple[str, ...]:
    """Return the earlier texts of a row, with the file's own: until it is completed, it is not an edit."""
    own = made.digest and made.digest != digest(new.text)
    return (*new.earlier, made.digest) if own else new.earlier


def _standing(old: Stored, after: Task) -> dict[str, Any]:
    """Return how a status that was set by hand changes the rest of a row."""
    changes: dict[str, Any] = {}
    status = after.status
    if after.agent != old.task.agent and status in {*OPEN, Status.BLOCKED}:
        changes["asked"] = after.agent
    if status == old.task.status and old.version:
        return changes
    changes |= no_attempt()
    if status in _BEGUN and (old.task.status in OPEN or not old.version):
        changes["attempt"] = old.attempt + 1  # it began, even if no one saw it in progress
    if status == Status.DONE:
        changes["doer"] = old.doer or after.agent
    elif status == Status.ERROR:
        changes["failures"] = max(old.failures, after.retries) + 1
    elif status in OPEN:
        changes |= {"doer": "", "follower": "", "forgiven": old.failures}
    return changes
