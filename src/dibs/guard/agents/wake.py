"""Start the server if the settings ask for it and none is running."""

from __future__ import annotations

import os
import sys
import time

from dibs.guard.agents.start import is_private, socket_of

PROGRAM = "server/run.py"
#: A new server has this many seconds to start before another attempt.
AGAIN = 5.0


def wake(package: str, *, again: float = AGAIN) -> bool:
    """Start the server, detached from this process; of several, all but one exit immediately."""
    path = socket_of(package)
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, handle) for handle in (0, 1, 2)]
    argv = [sys.executable, "-I", f"{package}/{PROGRAM}"]
    try:
        if not _is_first(path, again):
            return False
        os.posix_spawn(argv[0], argv, os.environ, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        return False
    finally:
        os.close(nowhere)
    return True


def _is_first(path: str, again: float) -> bool:
    """Record this attempt; return False if another was made recently."""
    folder, word = os.path.dirname(path), f"{path}.woken"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not is_private(folder):
            return False
    try:
        if abs(time.time() - os.stat(word).st_mtime) < again:
            return False
        os.unlink(word)
    except FileNotFoundError:
        pass
    try:
        os.close(os.open(word, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
