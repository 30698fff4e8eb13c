"""Waiting for the ledger of a store on a server to move, on a connection of its own."""

from __future__ import annotations

import os
import time

from dibs.engines.shared.failures import Cut, NotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.engines.shared.session import StoreSession


class StoreWaiter:
    """A separate connection, because it blocks. One thread uses it at a time."""

    __slots__ = ("_pid", "_session", "_timeout", "_wire")

    def __init__(self, session: StoreSession, timeout: float) -> None:
        self._session: Any = session
        self._timeout = timeout
        self._wire: Any = None
        self._pid = os.getpid()

    def connect(self, until: float) -> Any:
        """Open a connection."""
        raise NotImplementedError

    def newest(self, until: float) -> int:
        """Return the newest number in the ledger."""
        raise NotImplementedError

    def block(self, after: int, seconds: float) -> None:
        """Wait until the server says that the ledger has moved, or for at most ``seconds``."""
        raise NotImplementedError

    def wait(self, after: int, timeout: float) -> int:
        """Return the newest number once it is above ``after``, or after ``timeout`` seconds."""
        ends = time.monotonic() + timeout
        give_up = time.monotonic() + self._timeout
        while True:
            try:
                newest = self._look(give_up)
                left = ends - time.monotonic()
                if newest > after or left <= 0:
                    return newest
                give_up = 0.0
                self.block(after, left)
            except (NotSent, Cut) as problem:
                self.close()
                # After the first failure, it has one timeout to recover.
                give_up = give_up or time.monotonic() + self._timeout
                if not self._session.passes(problem) or time.monotonic() >= give_up:
                    raise self._session.unavailable(problem) from problem
                time.sleep(0.02)
            else:
                give_up = time.monotonic() + self._timeout

    def close(self) -> None:
        """Close the connection."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def _look(self, until: float) -> int:
        if self._pid != os.getpid():  # a connection belongs to the process that made it
            self.close()
            self._pid = os.getpid()
        if self._wire is None or not self._wire.usable:
            self._wire = self.connect(until)
        return self.newest(until)
