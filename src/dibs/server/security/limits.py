"""How many requests each sender may send: a bucket that fills at a constant rate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.server.security.identity import TokenScope
from dibs.server.security.refusals import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.security.identity import RequestIdentity

#: Requests for each second, and at once: for an agent or a reader, for a human, and failed ones.
AGENT_RATE, HUMAN_RATE, FAILURE_RATE = (100.0, 1_000), (1_000.0, 10_000), (0.2, 20)
#: How many senders are remembered; a full bucket is forgotten first.
_MOST = 10_000


class Buckets:
    """One bucket for each sender."""

    def __init__(
        self, limit: tuple[float, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._most = limit
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """Take one from a bucket; return 0, or the seconds until there is one."""
        now = self._clock()
        level, at = self._levels.pop(key, (float(self._most), now))
        level = min(float(self._most), level + (now - at) * self._rate)
        if len(self._levels) >= _MOST:
            del self._levels[next(iter(self._levels))]
        empty = level < 1
        self._levels[key] = (level if empty else level - 1, now)
        return (1 - level) / self._rate if empty else 0.0


class RequestLimits:
    """The limits of one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._agents = Buckets(AGENT_RATE, clock)
        self._humans = Buckets(HUMAN_RATE, clock)
        self._failures = Buckets(FAILURE_RATE, clock)

    def check(self, identity: RequestIdentity) -> None:
        """Count a request; refuse it if there were too many."""
        buckets = self._humans if identity.scope >= TokenScope.HUMAN else self._agents
        _refuse_if(buckets.take(identity.token or identity.caller.id))

    def failed(self, sender: str) -> None:
        """Count a request without a valid token; a valid one from the same address is not affected."""
        _refuse_if(self._failures.take(sender))


def _refuse_if(wait: float) -> None:
    if wait:
        seconds = int(wait) + 1
        raise RequestRefused(
            f"too many requests: try again in {seconds}s",
            code="RATE",
            headers=[(b"retry-after", str(seconds).encode())],
        )
