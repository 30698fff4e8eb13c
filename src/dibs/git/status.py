"""What differs in a working tree: between the last commit, the index and the disk, path by path.

The only reader of ``git status``.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git.objects import ABSENT, GONE, LINK, SUBMODULE, TreeEntry
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls, GitProcess


_FIELDS, _FIELDS_UNMERGED = 9, 11


class PathStatus(Record):
    """One path that differs somewhere; ``code`` is git's pair of letters, ``??`` for a new file."""

    path: str
    code: str
    head_mode: str = ABSENT
    index_mode: str = ABSENT
    work_mode: str = ABSENT
    head_oid: str = ""
    index_oid: str = ""
    #: Whether the index holds the sides of a conflict for it.
    unmerged: bool = False

    @property
    def untracked(self) -> bool:
        """Whether neither the last commit nor the index has it."""
        return self.code == "??"

    @property
    def new(self) -> bool:
        """Whether the last commit does not have it."""
        return self.head_mode == ABSENT

    @property
    def gone(self) -> bool:
        """Whether it is not on the disk any more."""
        return self.work_mode == ABSENT and not self.untracked

    @property
    def staged(self) -> bool:
        """Whether the index differs from the last commit."""
        return not self.untracked and self.code[0] != "."

    @property
    def nested(self) -> bool:
        """Whether it is a folder with a repository of its own, that no commit knows."""
        return self.untracked and self.path.endswith("/")


class Look(Record):
    """A working tree at one moment."""

    #: The commit that is checked out; empty before the first one.
    head: str
    #: The branch, such as ``main``; empty where none is checked out.
    branch: str
    #: Each path that differs from the commit, as it is now.
    entries: dict[str, TreeEntry]
    #: Repositories inside of the tree that it does not know.
    nested: tuple[str, ...] = ()


def changed(git: GitCalls, *paths: str) -> list[PathStatus]:
    """Return what differs in the tree, or below ``paths``: no renames, each new file, nothing ignored.

    Of a submodule only the commit that is checked out in it counts, not what is dirty inside.
    """
    return parsed(begin_changed(git, *paths).must())


def begin_changed(git: GitCalls, *paths: str) -> GitProcess:
    """Start to look; ``parsed`` reads the answer, ``compared_with`` says with which commit it compares."""
    return git.begin(
        "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=dirty", "--no-ahead-behind", "--", *paths,
    )  # fmt: skip


def compared_with(out: bytes) -> str:
    """Return the commit that the answer of a status compares with, empty where there is none yet."""
    return _about(out, "oid", "(initial)")


def _about(out: bytes, name: str, nothing: str) -> str:
    """Return what the head of an answer says of the branch; an empty text for ``nothing``."""
    mark = f"# branch.{name} "
    rows = (os.fsdecode(row) for row in out.split(b"\0", 2)[:2])
    found = next((row.removeprefix(mark) for row in rows if row.startswith(mark)), nothing)
    return "" if found == nothing else found


def look(git: GitCalls, *paths: str) -> Look:
    """Look at a working tree as it is now, or at some paths and all that is below them."""
    out = begin_changed(git, *paths).must()
    changes = parsed(out)
    nested = tuple(change.path[:-1] for change in changes if change.nested)
    entries = {c.path: _entry(git, c) for c in changes if not c.nested}
    return Look(compared_with(out), _about(out, "head", "(detached)"), entries, nested)


def _entry(git: GitCalls, change: PathStatus) -> TreeEntry:
    """Return what is at a path now; where only the disk knows the content, the object's name is empty."""
    if change.code.endswith("?"):
        return _untracked(os.path.join(git.tree, change.path))
    if change.gone:
        return GONE
    if change.code[1] == "." and not change.unmerged:
        return TreeEntry(change.index_mode, change.index_oid)
    if change.work_mode == SUBMODULE:
        return _submodule(git, change.path)
    return TreeEntry(change.work_mode)


def _submodule(git: GitCalls, path: str) -> TreeEntry:
    """Return the commit that a submodule has checked out; one that cannot say counts as gone."""
    try:
        said = git.run("-C", os.path.join(".", path), "rev-parse", "--verify", "HEAD^{commit}")
    except Unavailable:
        return GONE
    return GONE if said.code else TreeEntry(SUBMODULE, said.out.decode().strip())


def _untracked(path: str) -> TreeEntry:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return GONE  # it was deleted meanwhile
    if os.path.islink(path):
        return TreeEntry(LINK)
    return TreeEntry("100755" if mode & 0o100 else "100644")


def parsed(out: bytes) -> list[PathStatus]:
    """Read what ``git status --porcelain=v2 -z`` said."""
    found: list[PathStatus] = []
    for row in os.fsdecode(out).split("\0"):
        kind = row[:2]
        if kind == "1 ":
            _, code, _, head, index, work, head_oid, index_oid, path = row.split(" ", _FIELDS - 1)
            found.append(PathStatus(path, code, head, index, work, head_oid, index_oid))
        elif kind == "? ":
            found.append(PathStatus(row[2:], "??"))
        elif kind == "u ":
            words = row.split(" ", _FIELDS_UNMERGED - 1)
            # The second side is the last commit's, where there is one.
            found.append(
                PathStatus(
                    words[10], words[1], words[4], words[4], words[6], words[8], words[8], True
                )
            )
        elif row and kind not in {"# ", "! "}:
            raise Unavailable(f"git status said something unknown: {row[:40]!r}", code="GIT_FAILED")
    return _joined(found)


def _joined(found: list[PathStatus]) -> list[PathStatus]:
    """Join what git tells twice: taken out of the index, but still on the disk as a new file."""
    new = {change.path for change in found if change.untracked}
    tracked = {change.path for change in found if not change.untracked}
    if new.isdisjoint(tracked):
        return found
    kept = []
    for change in found:
        if not change.untracked and change.path in new:
            kept.append(change._replace(code=f"{change.code[0]}?", work_mode="100644"))
        elif not (change.untracked and change.path in tracked):
            kept.append(change)
    return kept
