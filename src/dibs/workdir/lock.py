"""One at a time: the lock on a board's files, held for as long as one command settles and acts.

It orders the processes of one machine that share a ``work/`` folder. Who may have a task is not decided here
but in the engine, so that a lock that does not hold (two machines on one network disk) costs a repair, and no
task is handed out twice.
"""

from __future__ import annotations

import os
import time

from dibs.errors import Misconfigured, Unavailable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Seconds that a command waits for another one.
PATIENCE = 30.0
_SHORTEST, _LONGEST = 0.0005, 0.02


class BoardLock:
    """A lock file; ``with`` holds it. A process that dies lets go."""

    __slots__ = ("_file", "path", "patience")

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._file = -1

    def __enter__(self) -> BoardLock:
        """Take the lock, or raise ``BOARD_BUSY`` when another command holds it for too long."""
        if fcntl is None:
            raise Misconfigured(
                "this system has no locks for a board of tasks",
                code="PLATFORM",
                hint="use Linux or macOS",
            )
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up, pause = time.monotonic() + self.patience, _SHORTEST
        while not self._try():
            if time.monotonic() > give_up:
                self.__exit__()
                raise Unavailable(
                    f"another command has held the board for {self.patience:g} s",
                    code="BOARD_BUSY",
                    hint="try again; a stopped process may hold it",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST)
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        os.close(self._file)
        self._file = -1

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
