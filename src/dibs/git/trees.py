"""Compare trees and indexes path by path, without rename detection."""

from __future__ import annotations

import os

from dibs.git.objects import ABSENT, FILES
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dibs.git.calls import GitCalls

#: The empty tree, which git knows without storing it, by the length of object names.
EMPTY = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
         64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}  # fmt: skip


class TreeChange(Record):
    """One path that differs between two trees; the mode is ``000000`` if it is missing."""

    path: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str

    @property
    def before(self) -> tuple[str, str]:
        """The first tree's mode and object."""
        return self.old_mode, self.old_oid

    @property
    def after(self) -> tuple[str, str]:
        """The second tree's mode and object."""
        return self.new_mode, self.new_oid

    @property
    def gone(self) -> bool:
        """Whether the second tree does not have it."""
        return self.new_mode == ABSENT

    @property
    def is_file(self) -> bool:
        """Whether the second tree has a file there, not a link or a submodule."""
        return self.new_mode in FILES


def differences(
    git: GitCalls, old: str, new: str, variables: Mapping[str, str] | None = None
) -> list[TreeChange]:
    """Return how ``new`` differs from ``old``: trees or commits, or an empty text for the empty tree."""
    one, other = old or EMPTY[len(new)], new or EMPTY[len(old)]
    out = git.must(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
        "--ignore-submodules=none", "--end-of-options", one, other, variables=variables,
    )  # fmt: skip
    return parsed(out)


def parsed(out: bytes) -> list[TreeChange]:
    """Parse the output of git's diff plumbing with ``--raw -z``."""
    return [change for _, rows in sections(out) for change in changes_in(rows)]


def changes_in(rows: Iterable[tuple[str, str]]) -> Iterator[TreeChange]:
    """Yield the changes of one section."""
    for about, path in rows:
        old_mode, new_mode, old_oid, new_oid, _ = about[1:].split(" ")
        yield TreeChange(path, old_mode, new_mode, old_oid, new_oid)


def sections(out: bytes) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """Split raw differences by commit: its names, and its rows with their paths."""
    names: list[str] = []
    rows: list[tuple[str, str]] = []
    words = iter(os.fsdecode(out).split("\0"))
    for word in words:
        about = word.lstrip("\n")
        if about.startswith(":"):
            rows.append((about, next(words)))
        elif about:
            if names:
                yield names, rows
            names, rows = about.split(), []
    if names or rows:
        yield names, rows


def staged(git: GitCalls, commit: str, index: str) -> list[TreeChange]:
    """Return how the index file ``index`` differs from ``commit``."""
    out = git.must(
        "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev",
        "--end-of-options", commit, variables={"GIT_INDEX_FILE": index},
    )  # fmt: skip
    return parsed(out)


def contents(
    git: GitCalls, oids: Iterable[str], variables: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return the contents of blobs by name, read by one process; a missing object has none."""
    asked = sorted({oid for oid in oids if oid.strip("0")})
    if not asked:
        return {}
    given = "".join(f"{oid}\n" for oid in asked).encode()
    out = memoryview(git.must("cat-file", "--batch", given=given, variables=variables))
    found: dict[str, bytes] = {}
    at = 0
    for oid in asked:
        end = at + bytes(out[at : at + 200]).index(b"\n")
        words = bytes(out[at:end]).decode().split()
        at = end + 1
        if words[1] != "missing":
            size = int(words[2])
            if words[1] == "blob":
                found[oid] = bytes(out[at : at + size])
            at += size + 1
    return found


def write_entries(
    git: GitCalls,
    index: str,
    changes: Iterable[TreeChange],
    variables: Mapping[str, str] | None = None,
) -> None:
    """Set the entries of these paths to their new state in the index file ``index``, and no others."""
    rows = []
    # Deletions first: a folder may become a file.
    for change in sorted(changes, key=lambda change: not change.gone):
        about = f"{'0' if change.gone else change.new_mode} {change.new_oid} 0"
        rows.append(about.encode() + b"\t" + os.fsencode(change.path) + b"\0")
    if rows:
        own = {**(variables or {}), "GIT_INDEX_FILE": index}
        git.must("update-index", "-z", "--index-info", given=b"".join(rows), variables=own)
