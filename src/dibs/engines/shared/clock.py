"""The engine clock: close to Unix time, never decreasing, unaffected by changes to the wall clock.

It runs on the machine's monotonic clock, which includes sleep, plus an offset that brings it close
to Unix time. The offset is chosen once per boot and shared by all processes.
"""

from __future__ import annotations

import time

from dibs.local.boottime import boot_shift
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Anchor(Record):
    """The relation between the monotonic clock and engine time during one boot."""

    boot: str
    offset: float
    #: The monotonic clock when this was chosen; a lower reading later means a reboot.
    chosen_at: float


class Sources(Record):
    """The clocks to read; tests use their own."""

    since_boot: Callable[[], float]
    wall: Callable[[], float]
    boot: Callable[[], str]


def system_sources() -> Sources:
    """Return the machine's clocks."""
    return Sources(since_boot(), time.time, _boot_id)


def since_boot() -> Callable[[], float]:
    """Return the monotonic clock, which includes the time the machine sleeps."""
    # macOS has no BOOTTIME; its MONOTONIC includes sleep, but time.monotonic does not
    clock = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    if clock is None:
        return time.monotonic
    gettime, shift = time.clock_gettime, boot_shift()
    if not shift:
        return lambda: gettime(clock)
    return lambda: gettime(clock) - shift  # as on the machine itself, outside of this container


def still_valid(anchor: Anchor, sources: Sources) -> bool:
    """Return whether ``anchor`` was chosen during the current boot."""
    return anchor.boot == sources.boot() and anchor.chosen_at <= sources.since_boot()


def choose(sources: Sources, latest: float) -> Anchor:
    """Anchor engine time for this boot, no earlier than ``latest``."""
    reading = sources.since_boot()
    return Anchor(sources.boot(), max(sources.wall(), latest) - reading, reading)


def reader(anchor: Anchor, sources: Sources) -> Callable[[], float]:
    """Return the clock that ``anchor`` describes."""
    read, offset = sources.since_boot, anchor.offset
    return lambda: read() + offset


def _boot_id() -> str:
    try:
        # Unbuffered and undecoded: every process that opens a store reads this, and most are short-lived.
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            return file.read().decode().strip()
    except OSError:
        return ""  # not Linux: a lower reading of the monotonic clock reveals a reboot
