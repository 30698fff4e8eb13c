"""Sort the ignored files of a worktree: small files are saved, whole ignored folders are not."""

from __future__ import annotations

import os
import stat

from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.git.calls import GitCalls

#: The largest ignored file, and the largest total, that are saved automatically, in bytes.
LARGEST, ALL = 8 << 20, 64 << 20
#: How deep to search ignored folders for repositories.
_DEPTH = 3


class Ignored(Record):
    """The ignored files of a worktree."""

    #: Files that differ from the main tree's.
    files: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def ignored(git: GitCalls, main: str, copied: Sequence[str] = ()) -> Ignored:
    """Return the ignored files in the working tree of ``git``.

    Folders in ``copied`` came from the main tree, so they are compared file by file.
    """
    paths = _listed(git, "--directory")
    inside = _listed(git, "--", *copied) if copied else []
    files: list[str] = []
    large: list[str] = []
    room = ALL
    for path in dict.fromkeys([*paths, *inside]):
        mode, size = _status(os.path.join(git.tree, path))
        if path.endswith("/") or not _is_kept(mode) or _same(git.tree, main, path):
            continue
        room -= size
        (large if size > LARGEST or room < 0 else files).append(path)
    # Git also lists folders whose files are all ignored one by one; these are saved file by file.
    folders = [
        path.rstrip("/")
        for path, following in zip(paths, [*paths[1:], ""], strict=False)
        if path.endswith("/") and not following.startswith(path)
    ]
    return Ignored(tuple(files), tuple(large), tuple(folders))


def _listed(git: GitCalls, *which: str) -> list[str]:
    out = git.must("ls-files", "--others", "--ignored", "--exclude-standard", "-z", *which)
    return [os.fsdecode(path) for path in out.split(b"\0") if path]


def _status(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_mode, status.st_size


def _is_kept(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _same(tree: str, main: str, path: str) -> bool:
    """Return whether the main tree has the same file: an unchanged copy, or a link to it."""
    one, other = os.path.join(tree, path), os.path.join(main, path)
    if stat.S_ISLNK(_status(one)[0]):
        leads = os.readlink(one)
        return leads == other or (os.path.islink(other) and os.readlink(other) == leads)
    if not stat.S_ISREG(_status(other)[0]) or _status(one)[1] != _status(other)[1]:
        return False
    with open(one, "rb", opener=regular) as mine, open(other, "rb", opener=regular) as its:
        while True:
            piece = mine.read(1 << 16)
            if piece != its.read(1 << 16):
                return False
            if not piece:
                return True


def repositories_in(tree: str, folders: Iterable[str]) -> list[str]:
    """Return the git repositories in ignored folders, which may contain their own commits."""
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
