"""Waiting for a Redis store's ledger to move; the server wakes us, without polling."""

from __future__ import annotations

import os
import time

from dibs.engines.redis.connection import key_of, newest_in
from dibs.engines.redis.errors import Cut, NotSent, passes, unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.session import RedisSession
    from dibs.engines.redis.wire import Wire

#: The longest time that one command blocks, so that a dead connection is detected.
_LONGEST = 10.0
#: How much longer than the block itself the reply may take.
_GRACE = 2.0


class LedgerWaiter:
    """A separate connection, because it blocks. One thread uses it at a time."""

    __slots__ = ("_pid", "_session", "_timeout", "_wire")

    def __init__(self, session: RedisSession, timeout: float) -> None:
        self._session = session
        self._timeout = timeout
        self._wire: Wire | None = None
        self._pid = os.getpid()

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
                self._block(after, min(left, _LONGEST))
            except (NotSent, Cut) as problem:
                self.close()
                # After the first failure, it has one timeout to recover.
                give_up = give_up or time.monotonic() + self._timeout
                if not passes(problem) or time.monotonic() >= give_up:
                    raise unavailable(self._session.target, problem) from problem
                time.sleep(0.02)
            else:
                give_up = time.monotonic() + self._timeout

    def close(self) -> None:
        """Close the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _look(self, until: float) -> int:
        if self._pid != os.getpid():  # a connection belongs to the process that made it
            self.close()
            self._pid = os.getpid()
        if self._wire is None or not self._wire.usable:
            self._wire = self._session.wire(until)
        meta = key_of(self._session.project, "meta")
        state = self._wire.call("HGET", meta, "state", until=until)
        return newest_in(state) if state else 0

    def _block(self, after: int, seconds: float) -> None:
        assert self._wire is not None
        self._wire.call(
            "XREAD", "COUNT", 1, "BLOCK", max(1, int(seconds * 1000)), "STREAMS",
            key_of(self._session.project, "ledger"), f"{after}-18446744073709551615",
            until=time.monotonic() + seconds + _GRACE,
        )  # fmt: skip
