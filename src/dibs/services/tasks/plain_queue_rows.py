"""The files of tasks in one transaction: which wait, which are done, and who holds which."""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE, Conflict, Request, deadline
from dibs.core.patterns.filing import Range
from dibs.core.tasks.files import task_of_file, task_pattern, unpack
from dibs.services.claims.acquire import survey
from dibs.services.state.presence import expire
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows

PENDING, FINISHED = "queue/", "finished/"
FREE, HELD, DONE = "free", "held", "done"


class QueuedFile(Record):
    """A task as a reader sees it."""

    name: str
    file: str
    state: str
    #: Who holds it; empty if nobody does.
    holder: str = ""
    reason: str = ""
    since: float = 0.0
    expires_in: float = 0.0


class QueueRows:
    """Reads the rows of tasks; what it does not take for a task's file is left alone."""

    __slots__ = ("_fold", "_rows")

    def __init__(self, rows: Rows, *, fold_case: bool) -> None:
        self._rows = rows
        self._fold = fold_case

    def pattern(self, name: str) -> Pattern:
        """Return what a claim on the task is made of."""
        return task_pattern(name, fold_case=self._fold)

    def pending(self) -> list[tuple[str, str]]:
        """Return the tasks to be done with their files, in order; what is done already is none of them."""
        finished = {self.pattern(name).key for name, _, _ in self._filed(FINISHED)}
        rows = self._filed(PENDING)
        return [(n, file) for n, file, _ in rows if self.pattern(n).key not in finished]

    def finished(self) -> list[QueuedFile]:
        """Return the tasks that are done."""
        return [QueuedFile(name, file, DONE) for name, file, _ in self._filed(FINISHED)]

    def files(self, prefix: str, name: str) -> dict[str, str]:
        """Return the files of one task: names that differ by case or ending are one task."""
        key = self.pattern(name).key
        return {file: value for n, file, value in self._filed(prefix) if self.pattern(n).key == key}

    def text(self, file: str) -> str:
        """Return what a file says, wherever it lies now."""
        value = self._rows.txn.get(PENDING + file) or self._rows.txn.get(FINISHED + file) or ""
        return unpack(value).decode("utf-8", "replace")

    def states(self, agent: str) -> Iterator[QueuedFile]:
        """Yield the tasks to be done as they stand for ``agent``."""
        for name, file in self.pending():
            yield self._state(name, file, self._around(name, agent))

    def swept(self, agent: str) -> list[QueuedFile]:
        """Return the same after taking off every claim on them that ran out.

        A script does not look at deadlines, only whether there is a lock file.
        """
        for name, _ in self.pending():
            for key, claim in self._around(name, agent).dead.items():
                expire(self._rows, key, claim)
        return list(self.states(agent))

    def _around(self, name: str, agent: str) -> Survey:
        return survey(self._rows, Request(agent, (self.pattern(name),), EXCLUSIVE, 0.0))

    def _state(self, name: str, file: str, around: Survey) -> QueuedFile:
        """Return a task with who is in the way of taking it, the caller itself included."""
        task = QueuedFile(name, file, FREE)
        for _, claim in around.own.values():
            return self._own(task, claim)
        return _held(task, around.conflicts[0]) if around.conflicts else task

    def _own(self, task: QueuedFile, claim: Claim) -> QueuedFile:
        left = deadline(claim, self._rows.seen(claim.agent)) - self._rows.now
        return QueuedFile(task.name, task.file, HELD, claim.agent, claim.reason, claim.since, left)

    def _filed(self, prefix: str) -> Iterator[tuple[str, str, str]]:
        for key, value in self._rows.txn.scan(Range(prefix)):
            file = key.removeprefix(prefix)
            name = task_of_file(file, fold_case=self._fold)
            if name:
                yield name, file, value


def _held(task: QueuedFile, conflict: Conflict) -> QueuedFile:
    why = conflict.reason or ("waits for it" if conflict.ticket else "")
    since, left = conflict.since, conflict.expires_in
    return QueuedFile(task.name, task.file, HELD, conflict.holder, why, since, left)
