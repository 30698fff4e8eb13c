"""The daemon's socket folder, and the lock that shows whether it runs."""

from __future__ import annotations

import os
from contextlib import suppress

from dibs.errors import Misconfigured
from dibs.guard.agents.start import is_private
from dibs.local.locks import FileLock


def private_folder(path: str) -> None:
    """Create the socket's folder if needed; refuse one that other users can access."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not is_private(path):
        raise Misconfigured(
            f"other users can access {path}",
            code="DAEMON_FOLDER",
            hint=f"if it is yours, run: chmod 700 {path}",
        )


class ProcessLock(FileLock):
    """A file lock whose file contains the number of the process that holds it."""

    def take(self, timeout: float | None = 0.0) -> bool:
        """Take the lock and record this process; tell whether it succeeded."""
        taken = super().take(timeout)
        if taken:
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, f"{os.getpid()}\n".encode(), 0)
        return taken

    def holder(self) -> int:
        """Return the process that holds the lock; 0 for none."""
        if not self.is_held():
            return 0
        with open(self.path, encoding="ascii") as file:
            text = file.read(20).strip()
        return int(text) if text.isdigit() else 0
