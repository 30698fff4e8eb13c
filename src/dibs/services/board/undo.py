"""A file says again what its task said before: a person undid an edit, or git brought an old file along.

An undone edit is an edit like any other. An older file that came with a branch, a pull or a reset is not: the
board goes on. It was git if the last commit is another one than when the file was last seen, and the file is
as that commit has it. Only words of people are undone so, and the error of a failed task, which is then tried
again; any other status is set back by a command.
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
    """Tell whether a file differs from its row in nothing that the board writes, or lets a failure go."""
    if task is None:
        return False
    again = row.task.status == Status.ERROR and task.status in OPEN and task.agent == row.task.agent
    return again or all(getattr(task, field) == getattr(row.task, field) for field in OWNED)


class LastCommit:
    """The last commit, looked at when it is first asked for."""

    def __init__(self, tree: str, folder: str, seen: int) -> None:
        """``seen`` is when the files of the board in ``folder`` were last looked at, in ns."""
        self._tree = tree
        self._folder = folder
        self._seen = seen
        self._brought: set[str] | None = None

    def brought(self, path: str) -> bool:
        """Tell whether git may have put the file there, a path below the board's folder."""
        if self._brought is None:
            self._brought = self._as_committed() if self._moved() else set()
        return f"{self._folder}/{path}" in self._brought

    def _moved(self) -> bool:
        """Tell whether there was a commit, a pull, a reset or another branch since the files were seen."""
        try:
            log = os.stat(os.path.join(self._tree, ".git", "logs", "HEAD"))
        except OSError:
            return True  # not known
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
