"""What a machine remembers of a Redis store between calls, outside of Redis: the anchor of its lives.

A server that lost its newest writes cannot say so. The machine that saw a later version, a higher number or
an earlier clock can. One small file in the project's state folder holds that.
"""

from __future__ import annotations

import json
import os

from dibs.local.files import write_file
from dibs.startup.records import Record

#: 2026-01-01 in seconds: lives are counted from here.
_FIRST_SECOND = 1_767_225_600
#: How many numbers there are for each second; a store does not write that many on average.
_PER_SECOND = 10_000
#: How many numbers are left out for writes that were lost unseen.
_MARGIN = 10_000


class Anchor(Record):
    """The newest that this machine saw of one store."""

    life: str = ""
    version: int = 0
    nonce: str = ""
    newest: int = 0
    #: The engine's clock, in seconds, when this machine's clock since boot showed ``since_boot``.
    now: float = 0.0
    boot: str = ""
    since_boot: float = 0.0
    #: By how much at most ``now`` is too early: how long the answer was on its way.
    slack: float = 0.0


def recall(path: str) -> Anchor:
    """Return what was remembered; nothing if there is nothing, or nothing that can be read."""
    if not path:
        return Anchor()
    try:
        with open(path, encoding="utf-8") as file:
            return Anchor(**json.load(file))
    except (OSError, ValueError, TypeError):
        return Anchor()


def remember(path: str, memory: Anchor, *, firmly: bool) -> None:
    """Write down what was seen; ``firmly`` where a loss of power must not undo it.

    Where nothing can be written, the store still works; this machine only notices less.
    """
    if not path:
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_file(path, json.dumps(memory._asdict()), sync=firmly)
    except OSError:
        return


def base_of_life(wall: float, newest: int, memory: Anchor) -> int:
    """Return the number above which a new life counts: above all that anybody can have seen.

    Time itself is the anchor that all machines share; what was seen stands in where a clock is wrong. The
    numbers of writes that were lost without anybody here having seen them are left out.
    """
    seconds = max(0, int(wall - _FIRST_SECOND))
    return max(seconds * _PER_SECOND, newest + _MARGIN, memory.newest + _MARGIN)
