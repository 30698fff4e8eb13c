"""The folders of a board, created by the first command that writes to it, and the files they import.

The queue folder of shell agents is also an inbox: files in ``tasks/pending`` are imported.
"""

from __future__ import annotations

import os
import stat

from dibs.core.tasks.rules import ARCHIVE, ASSIGNED, DONE, INBOX
from dibs.workdir.disk import mark_of, status_of
from dibs.workdir.moves import Meanwhile, take, write
from dibs.workdir.scan import ENDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.workdir.disk import Folders

LOGS, COLLABORATION, SCHEMAS = "logs", "collaboration", "schemas"
FOLDERS = (INBOX, ASSIGNED, DONE, ARCHIVE, LOGS, COLLABORATION, SCHEMAS)
#: The queue folder of shell agents.
PENDING = "tasks/pending"
_ATTRIBUTES, _SCHEMA = ".gitattributes", "task.schema.json"
_ALL = frozenset({*FOLDERS, _ATTRIBUTES})
#: Git merges generated pages of two branches line by line, so that they never conflict.
ATTRIBUTES = "collaboration/*.md merge=union\n"


def make(folders: Folders, schema: Callable[[], str]) -> None:
    """Create missing folders and the files that come with them; change no file."""
    with folders.open("") as handle:
        names = set(os.listdir(handle))
        if names.issuperset(_ALL) and status_of(handle, f"{SCHEMAS}/{_SCHEMA}") is not None:
            return
    for place in FOLDERS:
        folders.open(place, make=True).__exit__()
    _put_once(folders, "", _ATTRIBUTES, lambda: ATTRIBUTES)
    _put_once(folders, SCHEMAS, _SCHEMA, schema)


def _put_once(folders: Folders, place: str, name: str, text: Callable[[], str]) -> None:
    with folders.open(place, make=True) as handle:
        if status_of(handle, name) is None:
            write(folders.disk, handle, name, text(), None)


def take_over(folders: Folders) -> list[str]:
    """Move the files of the queue folder into the inbox, except those whose name is taken there."""
    taken: list[str] = []
    try:
        source = folders.beside(PENDING)
    except (FileNotFoundError, NotADirectoryError):
        return taken
    with source as handle, folders.open(INBOX, make=True) as inbox:
        for name in sorted(os.listdir(handle)):
            status = status_of(handle, name)
            if status is None or not _is_task(name, status):
                continue
            try:
                take(folders.disk, (handle, name), (inbox, name), mark_of(status))
            except (Meanwhile, OSError):
                continue  # the name is taken, or it is on another device: it stays, and doctor reports it
            taken.append(name)
    return taken


def waits(folders: Folders) -> bool:
    """Return whether a file of the queue folder could be imported."""
    try:
        with folders.beside(PENDING) as handle:
            found = ((name, status_of(handle, name)) for name in os.listdir(handle))
            return any(status and _is_task(name, status) for name, status in found)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _is_task(name: str, status: os.stat_result) -> bool:
    """Return whether a file can be imported; only regular files are."""
    return name.endswith(ENDINGS) and name[0] != "." and stat.S_ISREG(status.st_mode)
