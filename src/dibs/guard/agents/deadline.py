"""A time limit for hooks, by a timer signal instead of threads."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType, TracebackType
else:
    import _signal as signal  # `signal` builds enums, which takes longer than a claim


#: Raise again after this many seconds, in case code that must not fail swallowed the first exception.
_AGAIN = 0.2


class Late(BaseException):
    """The time is over. Not an ``Exception``, so that error handlers do not swallow it."""


class Deadline:
    """A block in which ``Late`` is raised when its time is over.

    Works only in the main thread; elsewhere the process that waits for the answer has its own timeout.
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
        """Turn the timer off."""
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._armed = False

    def set(self, seconds: float) -> None:
        """Restart the timer with ``seconds``."""
        self._start, self._seconds = time.monotonic(), seconds
        self._wind()

    def more(self, seconds: float) -> None:
        """Add ``seconds``, for an intended wait."""
        self._seconds += seconds
        self._wind()

    def _wind(self) -> None:
        if self._armed:
            left = self._start + self._seconds - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left), _AGAIN)


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise Late
