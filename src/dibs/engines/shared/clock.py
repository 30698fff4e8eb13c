"""Time on an engine's clock: near to Unix time, never going back, unaffected by changes of the wall clock.

The clock of the machine since boot keeps the pace, suspend included. An offset that is chosen
once for each boot, and that all processes share, brings it near to Unix time.
"""

from __future__ import annotations

import time

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Anchor(Record):
    """How the clock since boot relates to engine time during one boot."""

    boot: str
    offset: float
    #: The clock since boot when this was chosen: a lower reading later means another boot.
    chosen_at: float


class Sources(Record):
    """Where time comes from; a test puts its own in."""

    since_boot: Callable[[], float]
    wall: Callable[[], float]
    boot: Callable[[], str]


def system_sources() -> Sources:
    """Return the machine's own clocks."""
    return Sources(since_boot(), time.time, _boot_id)


def since_boot() -> Callable[[], float]:
    """Return a clock for how long something lasts: it also counts the time in which the machine sleeps."""
    # macOS has no BOOTTIME; its MONOTONIC counts sleep, while time.monotonic there does not
    clock = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    if clock is None:
        return time.monotonic
    gettime = time.clock_gettime
    return lambda: gettime(clock)


def still_valid(anchor: Anchor, sources: Sources) -> bool:
    """Tell whether ``anchor`` was chosen during the present boot."""
    return anchor.boot == sources.boot() and anchor.chosen_at <= sources.since_boot()


def choose(sources: Sources, latest: float) -> Anchor:
    """Anchor engine time for this boot, so that it is not before ``latest``."""
    reading = sources.since_boot()
    return Anchor(sources.boot(), max(sources.wall(), latest) - reading, reading)


def reader(anchor: Anchor, sources: Sources) -> Callable[[], float]:
    """Return the clock that ``anchor`` describes."""
    read, offset = sources.since_boot, anchor.offset
    return lambda: read() + offset


def _boot_id() -> str:
    try:
        # Without a buffer and a decoder: each process that opens a store looks, and most are short.
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            return file.read().decode().strip()
    except OSError:
        return ""  # not Linux: a regression of the clock since boot tells a new boot
