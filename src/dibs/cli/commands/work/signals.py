"""Signals that end ``dibs work``: recorded, so that a task is never left behind."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from dibs.cli.support.child import FORWARDED
from dibs.local.signals import not_ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType


class WaitEnded(Exception):
    """A signal ended the wait for a task."""


class EndSignals:
    """Records the signals that ask this process to end, instead of ending it in the middle of a step."""

    def __init__(self) -> None:
        #: The first signal, or 0.
        self.number = 0
        self._is_pausing = False

    def __enter__(self) -> EndSignals:
        self._before = {n: signal.signal(n, self._record) for n in not_ignored(FORWARDED)}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def note(self, *numbers: int) -> None:
        """Record signals that the command received."""
        self.number = next((n for n in (self.number, *numbers) if n), 0)

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Let a signal end a pause: raise ``WaitEnded``."""
        try:
            self._is_pausing = True
            if self.number:
                raise WaitEnded
            yield
        finally:
            self._is_pausing = False

    def _record(self, number: int, _: FrameType | None) -> None:
        self.note(number)
        if self._is_pausing:
            self._is_pausing = False  # a second signal must not interrupt the cleanup
            raise WaitEnded
