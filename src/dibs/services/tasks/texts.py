"""Write a transition of a task: its file's text, its place, its row, and its ledger entry."""

from __future__ import annotations

import time

from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import FINISHED, Status, check_step, folder_of
from dibs.services.state.tasks import Past, digest, put, retire
from dibs.taskfile.writing import changes_for, edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.state.tasks import Stored


class TaskWriter:
    """Writes tasks in one transaction, on behalf of one agent."""

    __slots__ = ("agent", "role", "rows")

    def __init__(self, rows: Rows, agent: str, role: str) -> None:
        self.rows = rows
        self.agent = agent
        self.role = role

    def move(
        self,
        old: Stored,
        verb: str,
        after: Task,
        kind: str,
        said: str,
        *,
        blocks: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> Stored:
        """Make one transition: write the file's new text, the row, and the ledger entry."""
        check_step(old.task, verb, after.status)
        new = rewritten(old, after, blocks)._replace(**changes)
        return self.write(old, new, kind, said, details)

    def write(
        self,
        old: Stored | None,
        new: Stored,
        kind: str,
        said: str,
        details: Mapping[str, Any] | None = None,
        *,
        adopts: bool = False,
    ) -> Stored:
        """Write a task's row and its ledger entry.

        ``adopts`` records that the row is unchanged since it was read from a file.
        """
        task = new.task
        facts: dict[str, Any] = {"task": task.id, "status": task.status, "agent": task.agent}
        if old is not None:
            facts["was"] = old.task.status
        if new.attempt:
            facts["attempt"] = new.attempt
        number = self.rows.emit(self.agent, self.role, kind, said, **{**facts, **(details or {})})
        if adopts and new.survived:
            new = new._replace(adopted=number)
        if old is not None and task.status in FINISHED and old.task.status not in FINISHED:
            new = new._replace(ended=self.rows.now)
        return put(self.rows, new._replace(version=number), old)

    def archive(
        self, new: Stored, ended: str, old: Stored | None, said: str, **details: Any
    ) -> Stored:
        """Replace a task's row, if it has one, with how it ended; ``new`` is its last file."""
        task = new.task
        number = self.rows.emit(
            self.agent, self.role, Kind.TASK_ARCHIVED, said, task=task.id, was=ended,
            status=task.status, agent=task.agent, place=new.place, **details,
        )  # fmt: skip
        past = Past(
            task.id, new.file, ended, new.place, task.title, task.agent, new.doer, task.completed,
            digest(new.text), number,
        )  # fmt: skip
        retire(self.rows, past, old)
        return new._replace(version=number)


def rewritten(old: Stored, after: Task, blocks: Mapping[str, Any] | None = None) -> Stored:
    """Return a row with the text and the place for a file that says ``after``."""
    changes = changes_for(old.task, after)
    for key, block in (blocks or {}).items():
        there = changes.get(key)
        changes[key] = {**there, **block} if isinstance(there, dict) else block
    text = edit(old.text, changes) if changes else old.text
    return old._replace(task=after, text=text, place=place_of(after), aside="")


def place_of(task: Task) -> str:
    """Return the folder of a task's file, relative to the board's folder."""
    month = month_of(task.completed) if task.status == Status.ARCHIVE else ""
    return folder_of(task.status, task.agent, month)


def month_of(moment: float) -> str:
    """Return the month of a time, as archive folders are named."""
    return time.strftime("%Y-%m", time.gmtime(min(max(moment, 0.0), 253_402_300_799)))


def moment(now: float) -> float:
    """Return a time in whole seconds, so that a file's text says exactly what its row says."""
    return float(int(now))


def unstarted(task: Task, asked: str, now: float) -> Task:
    """Return a task as it was before it was started: assigned to ``asked``, else in the inbox."""
    back = task._replace(
        started=0.0, completed=0.0, summary="", made=(), handoff=None, error="", reason=""
    )
    if asked:
        return back._replace(status=Status.ASSIGNED, agent=asked, assigned=moment(now))
    return back._replace(status=Status.NEW, agent="", assigned=0.0)
