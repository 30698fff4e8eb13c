"""Signals that end a process, unless it ignores them as under nohup; short because surfaces share it."""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn

#: The signals that ask a process to exit.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


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
