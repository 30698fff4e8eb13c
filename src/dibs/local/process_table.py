"""Which processes work in a folder: by their current folder, their program, and their files; ending a group.

Linux tells by ``/proc``; elsewhere it cannot be told without more than the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

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


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a process that leads a group, and all of the group; who does not go within ``grace`` is killed."""
    until = time.monotonic() + grace
    number = signal.SIGTERM
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: only a zombie is left
        while True:
            os.killpg(process.pid, number)
            process.poll()
            if number == signal.SIGKILL:
                break
            time.sleep(_PAUSE)
            if time.monotonic() >= until:
                number = signal.SIGKILL
    process.wait()


def _is_in(pid: str, folders: tuple[str, ...]) -> bool:
    if any(_beneath(_target(f"{_PROC}/{pid}/{link}"), folders) for link in ("cwd", "exe")):
        return True
    with contextlib.suppress(OSError):  # it ended, or is somebody else's
        for handle in os.listdir(f"{_PROC}/{pid}/fd"):
            if _beneath(_target(f"{_PROC}/{pid}/fd/{handle}"), folders):
                return True
    return _maps(pid, folders)


def _maps(pid: str, folders: tuple[str, ...]) -> bool:
    """Tell whether a process has a file in memory that it may have closed already."""
    try:
        with open(f"{_PROC}/{pid}/maps", "rb") as file:
            content = file.read()
    except OSError:
        return False
    # The kernel writes a line end in a name as octal digits, and nothing else.
    named = (os.fsencode(folder).replace(b"\n", rb"\012") for folder in folders)
    return any(b" " + folder + b"/" in content for folder in named)


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
