"""Waiting for a Redis store's ledger to move; the server wakes us, without polling."""

from __future__ import annotations

import time

from dibs.engines.redis.connection import key_of, newest_in
from dibs.engines.shared.waiter import StoreWaiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.wire import Wire

#: The longest time that one command blocks, so that a dead connection is detected.
_LONGEST = 10.0
#: How much longer than the block itself the reply may take.
_GRACE = 2.0


class LedgerWaiter(StoreWaiter):
    """Waits with a command that blocks."""

    __slots__ = ()

    def connect(self, until: float) -> Wire:
        """Open a connection."""
        wire: Wire = self._session.wire(until)
        return wire

    def newest(self, until: float) -> int:
        """Return the newest number in the ledger."""
        state = self._wire.call("HGET", key_of(self._session.project, "meta"), "state", until=until)
        return newest_in(state) if state else 0

    def block(self, after: int, seconds: float) -> None:
        """Wait until the ledger has an entry above ``after``, or for at most ``seconds``."""
        seconds = min(seconds, _LONGEST)
        self._wire.call(
            "XREAD", "COUNT", 1, "BLOCK", max(1, int(seconds * 1000)), "STREAMS",
            key_of(self._session.project, "ledger"), f"{after}-18446744073709551615",
            until=time.monotonic() + seconds + _GRACE,
        )  # fmt: skip
