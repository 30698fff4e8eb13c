"""Writing and moving task files so that a crash leaves the old or the new, and nobody reads a half.

A new text is a temporary file in the same folder, synced, then renamed over the old one. A move has the new
text in the old place first, then one rename. What a hand put there meanwhile is never overwritten: it is
looked for just before the rename. Between that look and the rename lie some microseconds that no portable
call closes.
"""

from __future__ import annotations

import os

from dibs.workdir.disk import FileStamp, mark_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workdir.disk import Disk, Folders


class Meanwhile(Exception):
    """Somebody changed the file that was about to be replaced; nothing was done to it."""


def write(disk: Disk, folder: int, name: str, text: str, expected: FileStamp | None) -> FileStamp:
    """Put ``text`` into the file ``name``, which is as ``expected`` or, by ``None``, not there."""
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
        return mark_of(os.fstat(file))  # the rename has changed the ctime
    finally:
        os.close(file)


def move(
    folders: Folders, old: tuple[str, str], new: tuple[str, str], expected: FileStamp
) -> FileStamp:
    """Move a file from one place and name to another that is free."""
    with folders.open(old[0]) as source, folders.open(new[0], make=True) as target:
        return take(folders.disk, (source, old[1]), (target, new[1]), expected)


def take(disk: Disk, old: tuple[int, str], new: tuple[int, str], expected: FileStamp) -> FileStamp:
    """Do so between open folders. The system refuses where they lie on two devices (``EXDEV``)."""
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
    """Remove a file that is as ``expected``."""
    unchanged(folder, name, expected)
    disk.remove(folder, name)
    disk.sync(folder, ".")


def unchanged(folder: int, name: str, expected: FileStamp | None) -> None:
    """Raise ``Meanwhile`` unless the file is as ``expected``, or, by ``None``, not there."""
    status = status_of(folder, name)
    if (None if status is None else mark_of(status)) != expected:
        raise Meanwhile(name)
