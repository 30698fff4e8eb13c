"""The folders of a board, created by the first command that writes to it."""

from __future__ import annotations

import os

from dibs.core.tasks.rules import ARCHIVE, ASSIGNED, DONE, INBOX
from dibs.workdir.disk import status_of
from dibs.workdir.moves import write_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.workdir.disk import Folders

LOGS, COLLABORATION, SCHEMAS = "logs", "collaboration", "schemas"
FOLDERS = (INBOX, ASSIGNED, DONE, ARCHIVE, LOGS, COLLABORATION, SCHEMAS)
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
            write_new(folders.disk, handle, name, text())
