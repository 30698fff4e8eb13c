"""Signals that end a process, unless it ignores them as under nohup."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress

from dibs.local.processes import end_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator
    from typing import NoReturn

#: The signals that ask a process to exit.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class SignalPipe:
    """Signals as a pipe that becomes readable, so that none is missed between a look and the wait.

    It sees only signals that have a handler in Python, in the main thread.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def wait(self, seconds: float) -> None:
        """Wait for a signal, but no longer than ``seconds``."""
        import select

        # Unlike select.select, this works with any descriptor number.
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
        with suppress(BlockingIOError):
            while os.read(self._read, 512):
                pass

    def close(self) -> None:
        """Restore what received the signals before."""
        signal.set_wakeup_fd(self._before)
        os.close(self._read)
        os.close(self._write)


def not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Return the signals that this process does not ignore."""
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def leaving_on_end() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, so that queue positions and the terminal are cleaned up."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in not_ignored(ENDING)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def process_group(
    start: Callable[[], subprocess.Popen[bytes]], grace: float
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process group, and end it with the block, also if a signal arrives during the start."""
    deliver = defer()
    try:
        process = start()
    except BaseException:
        deliver()
        raise
    try:
        deliver()
        yield process
    finally:
        end_group(process, grace)


def defer() -> Callable[[], None]:
    """Hold back the signals that end this process; return the function that delivers them.

    Only the main thread gets signals, so for other threads this does nothing.
    """
    import threading

    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    arrived: list[int] = []
    numbers = not_ignored((signal.SIGINT, *ENDING))
    before = {n: signal.signal(n, lambda number, _: arrived.append(number)) for n in numbers}

    def deliver() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in arrived:
            os.kill(os.getpid(), one)

    return deliver
