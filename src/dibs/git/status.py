"""Read ``git status``: what differs between the last commit, the index, and the disk."""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git.objects import ABSENT, GONE, LINK, SUBMODULE, TreeEntry
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.git.calls import GitCalls, GitProcess


_FIELDS, _FIELDS_UNMERGED = 9, 11


class PathStatus(Record):
    """One changed path; ``code`` is git's pair of letters, ``??`` for an untracked file."""

    path: str
    code: str
    head_mode: str = ABSENT
    index_mode: str = ABSENT
    work_mode: str = ABSENT
    head_oid: str = ""
    index_oid: str = ""
    #: Whether the index has a conflict for it.
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
        """Whether it was deleted from disk."""
        return self.work_mode == ABSENT and not self.untracked

    @property
    def staged(self) -> bool:
        """Whether the index differs from the last commit."""
        return not self.untracked and self.code[0] != "."

    @property
    def nested(self) -> bool:
        """Whether it is a folder with a separate repository, unknown to any commit."""
        return self.untracked and self.path.endswith("/")


class Look(Record):
    """A working tree at one moment."""

    #: The commit that is checked out; empty before the first one.
    head: str
    #: The branch, such as ``main``; empty when HEAD is detached.
    branch: str
    #: Each path that differs from the commit, as it is now.
    entries: dict[str, TreeEntry]
    #: Nested repositories that the tree does not know.
    nested: tuple[str, ...] = ()


def changed(git: GitCalls, *paths: str) -> list[PathStatus]:
    """Return the changed paths in the tree, or below ``paths``: no renames, each new file, nothing ignored.

    A submodule counts as changed only if its commit differs, not if it is dirty inside.
    """
    return parsed(begin_changed(git, *paths).must())


def begin_changed(git: GitCalls, *paths: str, ignored: str = "") -> GitProcess:
    """Start ``git status``; read its output with ``parsed``, ``ignored_of``, and ``compared_with``.

    ``ignored`` is "traditional" for each ignored file, or "matching" for a folder that is ignored as a whole.
    """
    also = [f"--ignored={ignored}"] if ignored else []
    return git.begin(
        "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=dirty", "--no-ahead-behind", *also, "--", *paths,
    )  # fmt: skip


def ignored_of(out: bytes) -> list[str]:
    """Return the ignored files in a status output."""
    return [os.fsdecode(row[2:]) for row in out.split(b"\0") if row.startswith(b"! ")]


def ignored_among(git: GitCalls, paths: Sequence[str]) -> set[str]:
    """Return the paths that git ignores; a tracked file is never ignored."""
    if not paths:
        return set()
    from dibs.git.calls import rows_of

    # This command rejects literal pathspecs; the prefix ./ disables other pathspec magic.
    result = git.run(
        "check-ignore", "-z", "--stdin", given=rows_of(f"./{path}" for path in paths),
        variables={"GIT_LITERAL_PATHSPECS": "0"},
    )  # fmt: skip
    return {os.fsdecode(path)[2:] for path in result.out.split(b"\0") if path}


def changed_or_ignored(git: GitCalls, *paths: str) -> tuple[list[PathStatus], list[str]]:
    """Return the changed paths, and the files that are ignored by themselves, not with their folder."""
    out = begin_changed(git, *paths, ignored="matching").must()
    return parsed(out), [path for path in ignored_of(out) if not path.endswith("/")]


def compared_with(out: bytes) -> str:
    """Return the commit that a status output compares with, or an empty text before the first commit."""
    return _about(out, "oid", "(initial)")


def _about(out: bytes, name: str, nothing: str) -> str:
    """Return a branch header of a status output, or an empty text if it is ``nothing``."""
    mark = f"# branch.{name} "
    rows = (os.fsdecode(row) for row in out.split(b"\0", 2)[:2])
    found = next((row.removeprefix(mark) for row in rows if row.startswith(mark)), nothing)
    return "" if found == nothing else found


def look(git: GitCalls, *paths: str) -> Look:
    """Return the state of a working tree, or of some paths and everything below them."""
    out = begin_changed(git, *paths).must()
    changes = parsed(out)
    nested = tuple(change.path[:-1] for change in changes if change.nested)
    entries = {c.path: _entry(git, c) for c in changes if not c.nested}
    return Look(compared_with(out), _about(out, "head", "(detached)"), entries, nested)


def _entry(git: GitCalls, change: PathStatus) -> TreeEntry:
    """Return what is at a path now; the object name is empty if the content is only on disk."""
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
    """Return the commit that a submodule has checked out, or GONE if it is unknown."""
    try:
        result = git.run("-C", os.path.join(".", path), "rev-parse", "--verify", "HEAD^{commit}")
    except Unavailable:
        return GONE
    return GONE if result.code else TreeEntry(SUBMODULE, result.out.decode().strip())


def _untracked(path: str) -> TreeEntry:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return GONE  # it was deleted meanwhile
    if os.path.islink(path):
        return TreeEntry(LINK)
    return TreeEntry("100755" if mode & 0o100 else "100644")


def parsed(out: bytes) -> list[PathStatus]:
    """Parse the output of ``git status --porcelain=v2 -z``."""
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
            # The second stage is the last commit's, if there is one.
            found.append(
                PathStatus(
                    words[10], words[1], words[4], words[4], words[6], words[8], words[8], True
                )
            )
        elif row and kind not in {"# ", "! "}:
            raise Unavailable(f"unknown output of git status: {row[:40]!r}", code="GIT_FAILED")
    return _joined(found)


def _joined(found: list[PathStatus]) -> list[PathStatus]:
    """Join the two rows of a file that was removed from the index but is still on disk."""
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
