"""Processes by their number and the moment of their start, so that a number that is given out again is noticed.

Linux tells all of it by ``/proc``. Elsewhere only a process that is gone can be told from one that is there.
"""

from __future__ import annotations

import os

from dibs.core.values import Record

_PROC = "/proc"
#: Fields of ``/proc/<pid>/stat``, counted behind the command's closing bracket.
_STATE, _PARENT, _START = 0, 1, 19
#: States of a process that has ended and only waits to be noticed.
_ENDED = frozenset({"Z", "X", "x"})
#: No chain of processes is longer than this; a circle would be.
_DEEPEST = 64
#: Programs that only start others: a hook is started by them on behalf of the agent above.
_SHELLS = frozenset({
    "sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "busybox", "env", "timeout",
    "nice", "nohup", "setsid", "stdbuf", "time", "xargs", "dibs",
})  # fmt: skip


class Running(Record):
    """A process that runs."""

    pid: int
    #: When it started, in ticks since the machine did; 0 where that cannot be told.
    born: int = 0
    name: str = ""
    #: The process that started it, 0 where that cannot be told.
    above: int = 0


def running(pid: int) -> Running | None:
    """Return the process with this number, None if there is none or it has ended."""
    if pid <= 0:
        return None
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
    except OSError:
        return None if _has_proc() or not _answers(pid) else Running(pid)
    words = rest.split()
    if len(words) <= _START or words[_STATE].decode() in _ENDED:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    return Running(pid, int(words[_START]), name, int(words[_PARENT]))


def is_there(pid: int, born: int) -> bool:
    """Tell whether the process still runs that had this number at that moment."""
    found = running(pid)
    return found is not None and (not born or not found.born or found.born == born)


def above(pid: int) -> list[Running]:
    """Return the chain of processes that a process was started by, the nearest first."""
    chain: list[Running] = []
    found = running(pid)
    while found is not None and found.above > 0 and len(chain) < _DEEPEST:
        found = running(found.above)
        if found is not None:
            chain.append(found)
    return chain


def agent_above(hook: int, told: str = "") -> Running | None:
    """Return the process of the agent that started a hook: the nearest above it that is no shell.

    ``told`` is the number that the agent itself gives; it counts if that process is above the hook.
    """
    chain = above(hook)
    number = int(told) if told.isascii() and told.isdigit() and len(told) < 12 else 0  # noqa: PLR2004
    for process in chain:
        if process.pid == number:
            return process
    for process in chain:
        if process.pid > 1 and process.name not in _SHELLS:
            return process
    if not chain and not _has_proc() and hook == os.getpid():
        return running(number or os.getppid())
    return None


def realm() -> str:
    """Return where process numbers mean the same: one start of one machine, and one space of numbers in it."""
    host = os.uname().nodename if hasattr(os, "uname") else ""
    try:
        space = os.stat(f"{_PROC}/self/ns/pid").st_ino
        with open(f"{_PROC}/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{host}/{file.read(8)}/{space}"
    except (OSError, ValueError):
        return host


def _has_proc() -> bool:
    return os.path.exists(f"{_PROC}/self/stat")


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
