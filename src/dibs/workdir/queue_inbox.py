"""The first document's queue folder as an inbox: files in ``tasks/pending`` are taken over."""

from __future__ import annotations

import os
import stat

from dibs.core.tasks.rules import INBOX
from dibs.workdir import moves
from dibs.workdir.disk import mark_of, status_of
from dibs.workdir.scan import ENDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workdir.disk import Folders
    from dibs.workdir.files import Files

PENDING = "tasks/pending"


def take_over(files: Files) -> list[str]:
    """Move the files of the queue folder into the inbox; one whose name is taken there stays."""
    taken: list[str] = []
    try:
        source = files.folders.beside(PENDING)
    except (FileNotFoundError, NotADirectoryError):
        return taken
    with source as handle, files.folders.open(INBOX, make=True) as inbox:
        for name in sorted(os.listdir(handle)):
            status = status_of(handle, name)
            if status is None or not _is_task(name, status):
                continue
            try:
                moves.take(files.disk, (handle, name), (inbox, name), mark_of(status))
            except (moves.Meanwhile, OSError):
                continue  # the name is taken, or it lies on another device: it stays, and doctor says so
            taken.append(name)
    return taken


def waits(folders: Folders) -> bool:
    """Tell whether a file of the queue folder could be taken over."""
    try:
        with folders.beside(PENDING) as handle:
            found = ((name, status_of(handle, name)) for name in os.listdir(handle))
            return any(status and _is_task(name, status) for name, status in found)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _is_task(name: str, status: os.stat_result) -> bool:
    """Tell whether a file can be taken over; what is not plain stays, and is not ours to judge."""
    return name.endswith(ENDINGS) and name[0] != "." and stat.S_ISREG(status.st_mode)
