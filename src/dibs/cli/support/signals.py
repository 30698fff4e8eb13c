"""Leave in order when told to end, so that places in the queue and the terminal are given back."""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

#: What others send to a process that is to end.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def leaving_on_end() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, which unwinds everything on its way out.

    A signal that is ignored stays ignored: the command may run under nohup.
    """

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
