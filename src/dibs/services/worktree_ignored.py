"""What git ignores in a worktree: small files are kept, whole ignored folders can be made again."""

from __future__ import annotations

import os
import stat

from dibs.core.values import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.calls import GitCalls

#: How large an ignored file may be, and all of them, to be kept without a word; in bytes.
LARGEST, ALL = 8 << 20, 64 << 20
#: How deep ignored folders are searched for repositories.
_DEPTH = 3


class Ignored(Record):
    """The ignored files of a worktree."""

    #: Those that the main tree does not have just so.
    files: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def ignored(git: GitCalls, main: str) -> Ignored:
    """Sort what git ignores in the working tree of ``git``."""
    out = git.must(
        "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"
    ).split(b"\0")
    paths = [os.fsdecode(path) for path in out if path]
    files: list[str] = []
    large: list[str] = []
    room = ALL
    for path in paths:
        mode, size = _status(os.path.join(git.tree, path))
        if path.endswith("/") or not stat.S_ISREG(mode) or _same(git.tree, main, path):
            continue
        room -= size
        (large if size > LARGEST or room < 0 else files).append(path)
    folders = [path.rstrip("/") for path in paths if path.endswith("/")]
    return Ignored(tuple(files), tuple(large), tuple(folders))


def _status(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_mode, status.st_size


def _same(tree: str, main: str, path: str) -> bool:
    """Tell whether the main tree has the same file: a copy that nobody changed."""
    one, other = os.path.join(tree, path), os.path.join(main, path)
    if not stat.S_ISREG(_status(other)[0]) or _status(one)[1] != _status(other)[1]:
        return False
    with open(one, "rb") as mine, open(other, "rb") as its:
        while True:
            piece = mine.read(1 << 16)
            if piece != its.read(1 << 16):
                return False
            if not piece:
                return True


def repositories_in(tree: str, folders: Iterable[str]) -> list[str]:
    """Return the repositories in ignored folders, which hold commits of their own."""
    found = []
    for folder in folders:
        for place, inner, names in os.walk(os.path.join(tree, folder)):
            relative = os.path.relpath(place, tree)
            if ".git" in inner or ".git" in names:
                found.append(relative)
                inner.clear()
            elif relative.count("/") - folder.count("/") >= _DEPTH:
                inner.clear()
    return found
