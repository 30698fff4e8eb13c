"""Where the process that stays has its socket, and how others see that it lives."""

from __future__ import annotations

import os
from contextlib import suppress

from dibs.errors import Misconfigured
from dibs.guard.agents.start import is_private
from dibs.local.locks import FileLock


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


class ProcessLock(FileLock):
    """A file lock whose file names the process that holds it."""

    def take(self, timeout: float | None = 0.0) -> bool:
        """Take the lock and write down who holds it; tell whether that worked."""
        taken = super().take(timeout)
        if taken:
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, f"{os.getpid()}\n".encode(), 0)
        return taken

    def holder(self) -> int:
        """Return the process that holds the lock, 0 for none."""
        if not self.is_held():
            return 0
        with open(self.path, encoding="ascii") as file:
            text = file.read(20).strip()
        return int(text) if text.isdigit() else 0
