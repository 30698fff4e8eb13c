"""Where the resident server keeps its files, and whether one is running."""

from __future__ import annotations

import os
from contextlib import suppress

from dibs.local.files import read_file, regular, write_file
from dibs.local.locks import FileLock
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Files in the server's folder: the lock that shows that it runs, what it says about itself, and its log.
LOCK, INFO, LOG = "server.lock", "server.json", "server.log"
#: The folder with the projects in which agents were guarded.
GUARDED = "guarded"
_LONGEST_NAME = 200


class ServerInfo(Record):
    """What a running server says about itself."""

    pid: int
    url: str
    #: The Unix socket for HTTP, which needs no token.
    socket: str
    version: str
    #: When it started, in seconds since 1970.
    started: float
    #: Whether a hook started it; it then exits when nothing needs it.
    auto: bool


class ProcessLock(FileLock):
    """A file lock whose file contains the number of the process that holds it."""

    def take(self, timeout: float | None = 0.0) -> bool:
        """Take the lock and record this process; tell whether it succeeded."""
        taken = super().take(timeout)
        if taken:
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, b"%d\n" % os.getpid(), 0)
        return taken

    def holder(self) -> int:
        """Return the process that holds the lock; 0 for none."""
        if not self.is_held():
            return 0
        with open(self.path, encoding="ascii", opener=regular) as file:
            text = file.read().strip()
        return int(text) if text.isdigit() else 0


def server_folder(environ: Mapping[str, str] | None = None) -> str:
    """Return the folder of this user's server, or of a process's with ``environ``; it may not exist yet."""
    return os.path.join(state_home(environ), "server")


def state_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the folder for what all of this user's projects share; it may not exist yet."""
    given = os.environ if environ is None else environ
    base = given.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # relative values of these variables are ignored by convention
        base = os.path.join(given.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "dibs")


def note_guarded(state: str) -> None:
    """Record that agents are guarded in a project, for commands that run outside of it."""
    folder = os.path.join(server_folder(), GUARDED)
    path = os.path.join(folder, state.replace("/", "%")[-_LONGEST_NAME:])
    if not os.path.exists(path):
        for each in (server_folder(), folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
        write_file(path, state)


def guarded_states() -> list[str]:
    """Return the state folders of this user's projects in which agents are or were guarded."""
    folder = os.path.join(server_folder(), GUARDED)
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        with (
            suppress(OSError, ValueError),  # one that is not readable does not hide the others
            open(os.path.join(folder, name), encoding="utf-8", opener=regular) as file,
        ):
            found.append(file.read())
    return found


def server_lock(folder: str) -> ProcessLock:
    """Return the lock that a running server holds."""
    return ProcessLock(os.path.join(folder, LOCK))


def running_server(folder: str) -> ServerInfo | None:
    """Return what the running server says about itself; None if none is running or it is still starting."""
    holder = server_lock(folder).holder()
    if not holder:
        return None
    import json

    try:
        found: dict[str, Any] = json.loads(read_file(os.path.join(folder, INFO)))
        info = ServerInfo(*(found[name] for name in ServerInfo._fields))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return info if info.pid == holder else None
