"""File locks: one process at a time holds a file's lock, and a process that dies releases it."""

from __future__ import annotations

import os
import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Whether this system has file locks. Without them every lock succeeds; callers that need them check this.
SUPPORTED = fcntl is not None

#: Seconds between two tries: the first pause and the longest; after that a process waits in line.
_SHORTEST, _LONGEST = 0.0005, 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_NONBLOCK", 0)


def try_lock(handle: int) -> bool:
    """Lock an open file unless another process has locked it; tell whether it is locked now."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def unlock(handle: int) -> None:
    """Unlock an open file."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)


class FileLock:
    """A lock file; a dead process releases it. ``with`` waits without a timeout."""

    __slots__ = ("handle", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        #: The open file while the lock is held; a child process that inherits it holds the lock as well.
        self.handle = -1

    def take(self, timeout: float | None = 0.0) -> bool:
        """Take the lock within ``timeout`` seconds (None: no timeout); tell whether it succeeded."""
        handle = os.open(self.path, _FLAGS, 0o600)
        try:
            if not _wait(handle, timeout):
                return False
            self.handle, handle = handle, -1
        finally:
            if handle >= 0:
                os.close(handle)
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def is_held(self) -> bool:
        """Return whether a process holds the lock, without creating the file."""
        if fcntl is None:
            return False
        try:
            handle = os.open(self.path, _FLAGS & ~os.O_CREAT)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def __enter__(self) -> FileLock:
        """Take the lock."""
        self.take(None)
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()


def _wait(handle: int, timeout: float | None) -> bool:
    if timeout is None:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    give_up, pause = time.monotonic() + timeout, _SHORTEST
    while not try_lock(handle):
        left = give_up - time.monotonic()
        if left <= 0:
            return False
        if pause > _LONGEST:
            return _wait_in_line(handle, left)
        time.sleep(min(pause, left))
        pause *= 1.5
    return True


def _wait_in_line(handle: int, timeout: float) -> bool:
    """Wait for the system to grant the lock, in the order of requests; polling would let newcomers pass.

    A blocking ``flock`` has no timeout, so another thread waits. If it gets the lock too late, the lock
    ends with its handle, which is then the last one.
    """
    from threading import Thread

    waiting, taken = os.dup(handle), []

    def wait() -> None:
        try:
            fcntl.flock(waiting, fcntl.LOCK_EX)
            taken.append(True)
        finally:
            os.close(waiting)

    thread = Thread(target=wait, daemon=True)
    thread.start()
    thread.join(timeout)
    return bool(taken)
