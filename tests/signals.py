"""Signals that this run was told to ignore, and its children were not."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

#: What nohup, a shell's ``&`` or a CI runner may have a run ignore, and what tests send to children.
SENT = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGCHLD,
)


def keep_ignored_signals_from_children() -> None:
    """Go on ignoring what this process was told to ignore, but start children that do not.

    A program inherits an ignored signal through exec, but not a handler: it gets the default.
    """
    for number in SENT:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, _do_nothing)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal as if it were ignored."""
