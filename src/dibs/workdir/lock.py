"""The lock on a board's files, held while one command reconciles and acts.

It orders the processes of one machine that share a ``work/`` folder. The engine, not this lock, decides who
gets a task, so if the lock fails (two machines on one network disk), files need a repair but no task is
handed out twice.
"""

from __future__ import annotations

import os

from dibs.errors import Misconfigured, Unavailable
from dibs.local import locks

#: How many seconds a command waits for another one.
PATIENCE = 30.0


class BoardLock(locks.FileLock):
    """A lock file for ``with``, which waits for a limited time."""

    __slots__ = ("patience",)

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__(path)
        self.patience = patience

    def __enter__(self) -> BoardLock:
        """Take the lock; raise ``BOARD_BUSY`` if another command holds it for too long."""
        if not locks.SUPPORTED:
            raise Misconfigured(
                "this system has no file locks, which the task board needs",
                code="PLATFORM",
                hint="use Linux or macOS",
            )
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        if not self.take(self.patience):
            raise Unavailable(
                f"another command has held the board's lock for {self.patience:g} s",
                code="BOARD_BUSY",
                hint="try again; if it persists, a stopped process may hold it",
            )
        return self
