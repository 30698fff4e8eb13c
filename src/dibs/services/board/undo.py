"""Detect a file that went back to an earlier text: a person undid an edit, or git restored an old file.

An undone edit is a hand edit. An older file that came with a branch, a pull, or a reset is not: the board's
state wins. It was git if HEAD moved since the file was last seen and the file matches HEAD. Only text
written by people can be undone this way, and the error of a failed task, which is then retried; any other
status needs a command.
"""

from __future__ import annotations

import os

from dibs.core.tasks.rules import OPEN, Status
from dibs.services.tasks.hand_edits import OWNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.tasks.rules import Task
    from dibs.services.state.tasks import Stored


def is_undone(row: Stored, task: Task | None) -> bool:
    """Return whether a file differs from its row only in what people write, or drops a failure."""
    if task is None:
        return False
    again = row.task.status == Status.ERROR and task.status in OPEN and task.agent == row.task.agent
    return again or all(getattr(task, field) == getattr(row.task, field) for field in OWNED)


class LastCommit:
    """The last commit, read when it is first needed."""

    def __init__(self, tree: str, folder: str, seen: int) -> None:
        """Prepare it; ``seen`` is when the board's files in ``folder`` were last read, in ns."""
        self._tree = tree
        self._folder = folder
        self._seen = seen
        self._brought: set[str] | None = None

    def brought(self, path: str) -> bool:
        """Return whether git may have restored the file; ``path`` is relative to the board."""
        if self._brought is None:
            self._brought = self._as_committed() if self._moved() else set()
        return f"{self._folder}/{path}" in self._brought

    def _moved(self) -> bool:
        """Return whether HEAD has moved since the files were seen."""
        try:
            log = os.stat(os.path.join(self._tree, ".git", "logs", "HEAD"))
        except OSError:
            return True  # unknown
        return log.st_mtime_ns >= self._seen

    def _as_committed(self) -> set[str]:
        from dibs.git.untrusted import guarded_calls
        from dibs.services.board.uncommitted import differing

        git = guarded_calls(self._tree)
        said = git.run("ls-files", "-z", "--", self._folder)
        if said.code:
            return set()  # not a repository
        tracked = {os.fsdecode(path) for path in said.out.split(b"\0")}
        return tracked.difference(change.path for change in differing(git, self._folder))
