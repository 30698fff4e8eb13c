"""Tell whether a folder contains only what an interrupted checkout wrote.

When the disk is full, git leaves files that end too early. They contain no one's work, and a full disk has no
room to salvage them. A file that is the beginning of the committed one counts as such a file. Reading this
writes nothing.
"""

from __future__ import annotations

import os

from dibs.git.batch_process import BatchProcess
from dibs.git.status import ignored_among
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls

_CHUNK = 1 << 20
_BLOB = "blob"


def is_checkout(git: GitCalls, folder: str, commit: str) -> bool:
    """Return whether every file in ``folder`` is a file of ``commit``, whole or cut off, or ignored."""
    committed = _blobs(git, commit)
    unknown = [path for path in _files(folder) if path not in committed]
    if len(ignored_among(git, unknown)) != len(unknown):
        return False
    blobs = BatchProcess(git, "cat-file", "--batch")
    try:
        return all(
            _begins(os.path.join(folder, path), blobs.object(committed[path])[1])
            for path in _files(folder)
            if path in committed
        )
    finally:
        blobs.close()


def _files(folder: str) -> Iterator[str]:
    """Yield the files and links in a worktree, relative to it, except git's own."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in (*names, *links):
            path = os.path.relpath(os.path.join(place, name), folder)
            if path != ".git":
                yield path


def _blobs(git: GitCalls, commit: str) -> dict[str, str]:
    """Return the files of a commit with their objects."""
    out = git.must("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    rows = (row.partition(b"\t") for row in out.split(b"\0") if row)
    found = ((os.fsdecode(path), head.decode().split()) for head, _, path in rows)
    return {path: oid for path, (_, kind, oid) in found if kind == _BLOB}


def _begins(path: str, content: bytes) -> bool:
    """Return whether a file or link contains the beginning of ``content``."""
    if os.path.islink(path):
        return os.fsencode(os.readlink(path)) == content
    with open(path, "rb", opener=regular) as file:
        at = 0
        while chunk := file.read(_CHUNK):
            if content[at : at + len(chunk)] != chunk:
                return False
            at += len(chunk)
    return True
