"""A server's clock as a handle knows it: read with every reply, and continued by the monotonic clock."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: How far the server's clock may deviate: in seconds, and as a share of the time since the last reading.
STEP, RATE = 0.25, 0.05


def clock_jump(now: float, low: float, high: float, passed: float) -> float:
    """Return how far ``now`` is outside of the range expected after ``passed`` seconds, or 0."""
    allowed = max(STEP, RATE * passed)
    if now < low - allowed:
        return now - low
    return now - high if now > high + allowed else 0.0


class ServerClock:
    """One connection's view of the server's clock."""

    __slots__ = ("_base", "_since_boot", "answered", "asked", "jump", "slack")

    def __init__(self, since_boot: Callable[[], float]) -> None:
        self._since_boot = since_boot
        self._base = 0.0
        #: Readings of the monotonic clock before and after the server's last reply.
        self.asked = self.answered = 0.0
        #: The most that our clock can be behind the server's.
        self.slack = 0.0
        #: How far the server's clock jumped, in seconds, as far as this connection can tell.
        self.jump = 0.0

    def now(self) -> float:
        """Return the current engine time, never ahead of the server's."""
        return self._base + (self._since_boot() - self.answered)

    def ask(self) -> None:
        """Note that a request is about to be sent."""
        self.asked = self._since_boot()

    def note(self, moment: int) -> None:
        """Set our clock by the server's reply, in microseconds, and detect jumps."""
        read, now = self._since_boot(), moment / 1e6
        expected = self._base + (read - self.answered)
        if not -STEP / 2 < now - expected < STEP / 2 and self.answered:
            low, high = expected - (read - self.asked), expected + self.slack
            self.jump = clock_jump(now, low, high, read - self.answered)
        else:
            self.jump = 0.0
        self._base, self.answered, self.slack = now, read, read - self.asked

    def shift(self, seconds: float) -> None:
        """Shift our view of the engine's clock: the store is about to do the same."""
        self._base += seconds
        self.jump = 0.0
