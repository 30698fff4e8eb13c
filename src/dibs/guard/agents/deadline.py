"""A bound on how long a hook takes: a signal of the clock, without threads."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType, TracebackType
else:
    import _signal as signal  # what is around it builds enumerations, which takes longer than a claim


#: How soon it rings again, where what it raised was lost in code that must not fail.
_AGAIN = 0.2


class Late(BaseException):
    """The time is over. Nobody who expects a failure may take it for one, so it is no ``Exception``."""


class Deadline:
    """While it lasts, ``Late`` is raised once its time is over.

    Only the main thread can be interrupted so; elsewhere whoever waits for the answer has a bound of its own.
    """

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._armed = False

    def __enter__(self) -> Deadline:
        try:
            self._before = signal.signal(signal.SIGALRM, _ring)
        except ValueError:
            return self
        self._armed = True
        self._wind()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.off()

    def off(self) -> None:
        """Ring no more."""
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._armed = False

    def set(self, seconds: float) -> None:
        """Let it last so long, from now."""
        self._start, self._seconds = time.monotonic(), seconds
        self._wind()

    def more(self, seconds: float) -> None:
        """Let it last longer: the wait that begins now is wanted."""
        self._seconds += seconds
        self._wind()

    def _wind(self) -> None:
        if self._armed:
            left = self._start + self._seconds - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left), _AGAIN)


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise Late
