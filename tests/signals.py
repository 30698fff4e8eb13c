"""Keep signals that the test run ignores from being ignored by its child processes."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

#: Signals that nohup, ``&``, or a CI runner may ignore, and that tests send to children.
SENT = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGCHLD,
)


def keep_ignored_signals_from_children() -> None:
    """Replace ignored signals by handlers that do nothing.

    A child process inherits ignored signals, but not handlers, so it gets the default action.
    """
    for number in SENT:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, _do_nothing)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Ignore a signal."""
