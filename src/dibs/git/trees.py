"""What two trees differ in, path by path, as git stores them: no renames are guessed."""

from __future__ import annotations

import os

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.git.calls import GitCalls

ABSENT = "000000"
#: Git knows the empty tree without having it; by its name the kind of hash is told apart.
EMPTY = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
         64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}  # fmt: skip


class TreeChange(Record):
    """One path that two trees have differently; the mode is ``000000`` where it is not there."""

    path: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str

    @property
    def gone(self) -> bool:
        """Whether the second tree does not have it."""
        return self.new_mode == ABSENT

    @property
    def is_file(self) -> bool:
        """Whether the second tree has a file there: no link, no submodule."""
        return self.new_mode in {"100644", "100755"}


def differences(
    git: GitCalls, old: str, new: str, variables: Mapping[str, str] | None = None
) -> list[TreeChange]:
    """Return what ``new`` has other than ``old``: trees or commits, an empty text for the empty tree."""
    one, other = old or EMPTY[len(new)], new or EMPTY[len(old)]
    out = git.must(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
        "--ignore-submodules=none", "--end-of-options", one, other, variables=variables,
    )  # fmt: skip
    return parsed(out)


def parsed(out: bytes) -> list[TreeChange]:
    """Read what git's plumbing for differences says with ``--raw -z``."""
    rows = os.fsdecode(out).split("\0")
    found = []
    for about, path in zip(rows[::2], rows[1::2], strict=False):
        old_mode, new_mode, old_oid, new_oid, _ = about.removeprefix(":").split(" ")
        found.append(TreeChange(path, old_mode, new_mode, old_oid, new_oid))
    return found


def index_info(changes: Iterable[TreeChange]) -> bytes:
    """Return the second side of these as ``git update-index -z --index-info`` reads it."""
    rows = []
    for change in sorted(
        changes, key=lambda change: not change.gone
    ):  # room first: a folder becomes a file
        about = f"{'0' if change.gone else change.new_mode} {change.new_oid} 0"
        rows.append(about.encode() + b"\t" + os.fsencode(change.path) + b"\0")
    return b"".join(rows)
