"""One at a time: the lock on a board's files, held for as long as one command settles and acts.

It orders the processes of one machine that share a ``work/`` folder. Who may have a task is not decided here
but in the engine, so that a lock that does not hold (two machines on one network disk) costs a repair, and no
task is handed out twice.
"""

from __future__ import annotations

import os

from dibs.errors import Misconfigured, Unavailable
from dibs.local import locks

#: Seconds that a command waits for another one.
PATIENCE = 30.0


class BoardLock(locks.FileLock):
    """A lock file that ``with`` waits for until its patience ends."""

    __slots__ = ("patience",)

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__(path)
        self.patience = patience

    def __enter__(self) -> BoardLock:
        """Take the lock, or raise ``BOARD_BUSY`` when another command holds it for too long."""
        if not locks.SUPPORTED:
            raise Misconfigured(
                "this system has no locks for a board of tasks",
                code="PLATFORM",
                hint="use Linux or macOS",
            )
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        if not self.take(self.patience):
            raise Unavailable(
                f"another command has held the board for {self.patience:g} s",
                code="BOARD_BUSY",
                hint="try again; a stopped process may hold it",
            )
        return self
