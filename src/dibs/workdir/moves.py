"""Write and move task files so that a crash leaves either the old or the new file, never half of one.

A new text is a temporary file in the same folder, synced, then renamed over the old one. A move writes the
new text in the old place first, then renames once. A file that someone changed meanwhile is never
overwritten: it is checked just before the rename, and no portable call closes the remaining microseconds.
"""

from __future__ import annotations

import os

from dibs.core.text.names import quote
from dibs.errors import Unavailable
from dibs.workdir.disk import FileStamp, mark_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workdir.disk import Disk, Folders


class Meanwhile(Unavailable):
    """The file to be replaced has changed; nothing was done to it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{quote(name)} of the board changed while Dibs was about to write it",
            code="STORAGE_IO",
            hint="run the command again",
        )


def write(disk: Disk, folder: int, name: str, text: str, expected: FileStamp | None) -> FileStamp:
    """Write ``text`` to the file ``name``, which must match ``expected``, or not exist if that is None."""
    file, temp = disk.create(folder)
    try:
        try:
            disk.write(file, temp, text.encode("utf-8", "surrogateescape"))
            disk.sync(file, temp)
            unchanged(folder, name, expected)
            disk.rename(folder, temp, folder, name)
        except (OSError, Meanwhile):
            disk.remove(folder, temp)
            raise
        disk.sync(folder, ".")
        return mark_of(os.fstat(file))  # the rename changed the ctime
    finally:
        os.close(file)


def write_new(disk: Disk, folder: int, name: str, text: str) -> bool:
    """Write a new file; tell whether it did, or whether the name is taken."""
    if status_of(folder, name) is not None:
        return False
    try:
        write(disk, folder, name, text, None)
    except Meanwhile:
        return False
    return True


def move(
    folders: Folders, old: tuple[str, str], new: tuple[str, str], expected: FileStamp
) -> FileStamp:
    """Move a file to another place and name, which must not exist."""
    with folders.open(old[0]) as source, folders.open(new[0], make=True) as target:
        return take(folders.disk, (source, old[1]), (target, new[1]), expected)


def take(disk: Disk, old: tuple[int, str], new: tuple[int, str], expected: FileStamp) -> FileStamp:
    """Move a file between open folders. The system refuses if they are on two devices (``EXDEV``)."""
    unchanged(*old, expected)
    unchanged(*new, None)
    disk.rename(*old, *new)
    disk.sync(new[0], ".")
    disk.sync(old[0], ".")
    status = status_of(*new)
    if status is None:
        raise Meanwhile(new[1])
    return mark_of(status)


def remove(disk: Disk, folder: int, name: str, expected: FileStamp) -> None:
    """Remove a file that matches ``expected``."""
    unchanged(folder, name, expected)
    disk.remove(folder, name)
    disk.sync(folder, ".")


def unchanged(folder: int, name: str, expected: FileStamp | None) -> None:
    """Raise ``Meanwhile`` unless the file matches ``expected``, or does not exist if that is None."""
    status = status_of(folder, name)
    if (None if status is None else mark_of(status)) != expected:
        raise Meanwhile(name)
