"""The working trees of a repository, as git lists them, and which branch each has checked out."""

from __future__ import annotations

import os

from dibs.core.values import Record
from dibs.git.worktrees import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls

#: Where git notes the branch that a rebase will move at its end.
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")


class Checkout(Record):
    """A working tree; ``ref`` is empty where none is checked out."""

    path: str
    head: str = ""
    ref: str = ""
    bare: bool = False


def checkouts(git: GitCalls) -> list[Checkout]:
    """Return all working trees whose folders are there, the main one first."""
    found = []
    for block in listing(git).split(b"\0\0"):
        fields = dict(_field(line) for line in block.split(b"\0") if line)
        if "worktree" in fields:
            tree = Checkout(
                fields["worktree"],
                fields.get("HEAD", ""),
                fields.get("branch", ""),
                "bare" in fields,
            )
            if os.path.isdir(tree.path):
                found.append(tree)
    return found


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = line.partition(b" ")
    return name.decode("ascii", "replace"), os.fsdecode(value)


def rebased_in(common: str, ref: str) -> str:
    """Return the git directory in which ``ref`` is being rebased, empty if it is in none."""
    linked = os.path.join(common, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    for place in [common, *(os.path.join(linked, name) for name in names)]:
        for note in _REBASED:
            try:
                with open(os.path.join(place, note), "rb") as file:
                    if os.fsdecode(file.read(4096)).strip() == ref:
                        return place
            except OSError:
                continue
    return ""
