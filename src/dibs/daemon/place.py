"""Where the process that stays has its socket, and how others see that it lives."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from dibs.errors import Misconfigured
from dibs.startup.pack import is_private


def private_folder(path: str) -> None:
    """Make the folder of the socket, if it is not there; refuse one that is not ours alone."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not is_private(path):
        raise Misconfigured(
            f"{path} is not a folder of yours alone",
            code="DAEMON_FOLDER",
            hint=f"look at who made it, then remove it or run chmod 700 {path}",
        )


class ProcessLock:
    """A lock that ends with its process, on a file that names it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1

    def take(self) -> bool:
        """Take the lock and write down who has it; False if another process has."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        return True

    def free(self) -> None:
        """Give it back."""
        os.close(self._file)

    def holder(self) -> int:
        """Return the process that has the lock, 0 for none."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.pread(file, 20, 0).strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(file)
        return 0
