"""Which processes work in a folder: by their current folder, their program, and their open files.

Linux tells by ``/proc``; elsewhere it cannot be told without more than the standard library.
"""

from __future__ import annotations

import contextlib
import os
import time

from dibs.core.values import Record

_PROC = "/proc"
_DELETED = " (deleted)"
_LOOKS, _PAUSE = 3, 0.05


class Process(Record):
    """A process that is in a folder."""

    pid: int
    name: str

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.name} ({self.pid})"


def processes_in(*folders: str) -> list[Process] | None:
    """Return the processes that are in one of these folders; None where that cannot be told.

    A process of another user that this one may not look into is not seen.
    """
    if not os.path.exists(f"{_PROC}/self/cwd"):
        return None
    wanted = tuple(folders)
    names = [name for name in os.listdir(_PROC) if name.isdigit()]
    return [Process(int(pid), _name(pid)) for pid in names if _is_in(pid, wanted)]


def lasting_in(folder: str) -> list[Process] | None:
    """Return the processes that are in a folder and stay: git looks into many for a moment."""
    found = processes_in(folder)
    for _ in range(_LOOKS):
        if not found:
            break
        time.sleep(_PAUSE)
        still = set(processes_in(folder) or ())
        found = [process for process in found if process in still]
    return found


def _is_in(pid: str, folders: tuple[str, ...]) -> bool:
    if any(_beneath(_target(f"{_PROC}/{pid}/{link}"), folders) for link in ("cwd", "exe")):
        return True
    with contextlib.suppress(OSError):  # it ended, or is somebody else's
        for handle in os.listdir(f"{_PROC}/{pid}/fd"):
            if _beneath(_target(f"{_PROC}/{pid}/fd/{handle}"), folders):
                return True
    return False


def _target(link: str) -> str:
    try:
        return os.readlink(link).removesuffix(_DELETED)
    except OSError:
        return ""


def _beneath(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _name(pid: str) -> str:
    try:
        with open(f"{_PROC}/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "a process"
