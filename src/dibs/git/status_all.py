"""How a working tree differs from its commit: one ``git status``, of all paths or of a few.

An entry says what stands at a path now. Where only the disk knows the content, the object's name is empty.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.git.calls import GitCalls

SUBMODULE = "160000"
LINK = "120000"


class TreePath(Record):
    """What stands at a path. No ``mode``: nothing does. No ``oid``: the file has to be read."""

    mode: str = ""
    oid: str = ""


class Look(Record):
    """A working tree at one moment."""

    #: The commit that is checked out; empty before the first one.
    head: str
    #: The branch, such as ``main``; empty where none is checked out.
    branch: str
    #: Each path that differs from the commit.
    entries: dict[str, TreePath]
    #: Repositories inside of the tree that it does not know.
    nested: tuple[str, ...] = ()


GONE = TreePath()


def look(git: GitCalls, paths: Sequence[str] = ()) -> Look:
    """Look at a working tree, or at some paths and all that is below them."""
    said = git.must(
        "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
        "--untracked-files=all", "--ignore-submodules=dirty", "--", *paths,
    )  # fmt: skip
    head = branch = ""
    entries: dict[str, TreePath] = {}
    nested = []
    for line in said.split(b"\0"):
        kind = line[:1]
        if kind == b"#":
            _, name, value = line.decode("utf-8", "surrogateescape").split(" ", 2)
            if name == "branch.oid":
                head = "" if value == "(initial)" else value
            elif name == "branch.head":
                branch = "" if value == "(detached)" else value
        elif kind in (b"1", b"u"):
            path, entry = _tracked(git, line)
            entries[path] = entry
        elif kind == b"?":
            path = os.fsdecode(line[2:])
            if path.endswith("/"):
                nested.append(path[:-1])
            else:
                entries[path] = _untracked(os.path.join(git.tree, path))
    return Look(head, branch, entries, tuple(nested))


def _tracked(git: GitCalls, line: bytes) -> tuple[str, TreePath]:
    fields = line.split(b" ", 8 if line[:1] == b"1" else 10)
    path = os.fsdecode(fields[-1])
    if line[:1] == b"u":  # an unfinished merge: what the file holds now counts
        mode = fields[6].decode()
        if mode == SUBMODULE:
            return path, _submodule(git, path)
        return path, TreePath(mode) if mode.strip("0") else GONE
    staged, there = fields[1][:1].decode(), fields[1][1:].decode()
    index_mode, disk_mode, oid = fields[4].decode(), fields[5].decode(), fields[7].decode()
    if there == ".":
        return path, GONE if staged == "D" else TreePath(index_mode, oid)
    if there == "D":
        return path, GONE
    return path, _submodule(git, path) if disk_mode == SUBMODULE else TreePath(disk_mode)


def _submodule(git: GitCalls, path: str) -> TreePath:
    """Return the commit that a submodule has checked out; one that cannot say counts as gone."""
    try:
        said = git.run("-C", os.path.join(".", path), "rev-parse", "--verify", "HEAD^{commit}")
    except Unavailable:
        return GONE
    return GONE if said.code else TreePath(SUBMODULE, said.out.decode().strip())


def _untracked(path: str) -> TreePath:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return GONE  # it has gone meanwhile
    if os.path.islink(path):
        return TreePath(LINK)
    return TreePath("100755" if mode & 0o100 else "100644")
