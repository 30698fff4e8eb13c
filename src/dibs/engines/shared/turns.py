"""Turn-taking: which process may start the next write transaction of a SQLite store.

SQLite alone decides who writes; this only decides who asks. With SQLite's busy timeout, the writer
that just finished tends to win again and others starve. Here, a writer first locks the line (one
place), then the gate, and then frees the line. During its turn, a short period, it may go straight
back to the gate; after that it has to go through the line again.

Locks are polled, because a blocking ``flock`` cannot time out and a stopped process may hold either
lock. A process stopped in the line would block a free gate, so a writer that has waited long enough
tries the gate directly.
"""

from __future__ import annotations

import os
import time

from dibs.local.locks import try_lock, unlock

_monotonic = time.monotonic
#: Not through a link, and without waiting for anyone.
_HERE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

#: How long, in seconds, a writer may return to the gate without going through the line.
_TURN = 0.002
#: Seconds between attempts to lock the line; randomized by each waiter.
_PAUSE = 0.006
#: Seconds in the line after which a waiter tries the gate directly.
_PATIENCE = 0.1


def jitter(pause: float) -> float:
    """Return a random value between 0.5 and 1.5 times ``pause``."""
    return pause * (0.5 + (time.perf_counter_ns() * 2654435761 >> 7 & 0xFFFF) / 0x10000)


class Turns:
    """One handle's locks on the two turn-taking files next to a database."""

    __slots__ = ("_gate", "_line", "_turn_ends")

    def __init__(self, database: str) -> None:
        self._line = open_private(database + ".line")
        try:
            self._gate = open_private(database + ".gate")
        except OSError:
            os.close(self._line)
            raise
        self._turn_ends = 0.0

    def enter(self, now: float, timeout: float) -> bool:
        """Lock the gate within ``timeout`` seconds of ``now`` (monotonic); return whether that succeeded."""
        if now < self._turn_ends and try_lock(self._gate):
            return True
        if now < self._turn_ends or not try_lock(self._line):
            return self._wait(now, timeout)
        try:
            if not try_lock(self._gate):
                return self._wait_at_head(now + timeout)
            self._turn_ends = now + _TURN
        finally:
            unlock(self._line)
        return True

    def leave(self) -> None:
        """Unlock the gate."""
        unlock(self._gate)

    def close(self) -> None:
        """Close both files."""
        os.close(self._gate)
        os.close(self._line)

    def _wait(self, started: float, timeout: float) -> bool:
        deadline = started + timeout
        while (now := _monotonic()) < deadline:
            time.sleep(min(jitter(_PAUSE), deadline - now))
            if try_lock(self._line):
                try:
                    return self._wait_at_head(deadline)
                finally:
                    unlock(self._line)
            if now - started > _PATIENCE and try_lock(self._gate):
                return True
        return False

    def _wait_at_head(self, deadline: float) -> bool:
        pause = 0.0002
        while (now := _monotonic()) < deadline:
            if try_lock(self._gate):
                self._turn_ends = now + _TURN
                return True
            time.sleep(jitter(pause))
            pause = min(pause * 1.03, 0.002)
        return False


def open_private(path: str) -> int:
    """Open a file that only its owner can use, whatever the umask; create it if needed."""
    try:
        return os.open(path, os.O_RDWR | _HERE)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _HERE, 0o600)
        if hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
        return handle
