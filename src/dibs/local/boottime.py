"""The time namespace of this process; short because the engines' clock and process start times share it.

In a container with its own time namespace, the clock since boot and the start times in ``/proc`` are shifted.
All processes of a machine that share a store must agree on both.
"""

from __future__ import annotations

import os

_OFFSETS = "/proc/self/timens_offsets"
_known: list[float] = []


def boot_shift() -> float:
    """Return by how many seconds this process's clock since boot is ahead of the machine's."""
    if not _known:
        _known.append(_read())
    return _known[0]


def _read() -> float:
    try:
        handle = os.open(_OFFSETS, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return 0.0  # not Linux, or too old for time namespaces
    try:
        for line in os.read(handle, 4096).splitlines():
            name, seconds, nanoseconds = line.split()
            if name in {b"boottime", b"7"}:  # older kernels print the clock's number
                return int(seconds) + int(nanoseconds) / 1e9
    except (OSError, ValueError):
        return 0.0
    finally:
        os.close(handle)
    return 0.0
