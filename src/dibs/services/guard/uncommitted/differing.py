"""Find the files that differ from the last commit, with one call of git that runs no other program."""

from __future__ import annotations

import os
import stat

from dibs.errors import DibsError
from dibs.git.calls import GitCalls
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The time limit, in seconds; after it, the files count as changed.
_PATIENCE = 1.0
#: The length of a SHA-1 name.
_SHA1 = 40


def differing(root: str, paths: Sequence[str], commits: Mapping[str, str] = {}) -> list[str]:
    """Return the files whose bytes are not those in the last commit, or in the path's own commit.

    A file that git converts (line endings, filters) is among them; `git status` can tell.
    """
    names = [f"{commits.get(path, 'HEAD')}:{path}" for path in paths]
    given = b"".join(os.fsencode(name) + b"\0" for name in names)
    try:
        said = GitCalls(root, timeout=_PATIENCE).run(
            "cat-file", "-z", "--batch-check=%(objectname) %(objectsize)", given=given
        )
    except (DibsError, OSError):
        return list(paths)
    rows = said.out.split(b"\n")
    if said.code or len(rows) != len(paths) + 1:  # a name with a newline
        return list(paths)
    return [path for path, row in zip(paths, rows, strict=False) if not _same(root, path, row)]


def _same(root: str, path: str, row: bytes) -> bool:
    """Return whether a file is the object that git describes as name and size."""
    name, _, size = row.partition(b" ")
    try:
        about = os.lstat(os.path.join(root, path))
        if not size.isdigit() or about.st_size != int(size):
            return False
        if stat.S_ISLNK(about.st_mode):
            content = os.fsencode(os.readlink(os.path.join(root, path)))
        else:
            with open(os.path.join(root, path), "rb", opener=regular) as file:
                content = file.read()
    except (OSError, ValueError):
        return False
    import hashlib

    how = hashlib.sha1 if len(name) == _SHA1 else hashlib.sha256
    return how(b"blob %d\0" % len(content) + content).hexdigest().encode() == name
