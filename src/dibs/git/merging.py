"""Merging two commits without any working tree: the merged tree, or where they clash."""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls

#: What git answers when it merged, and when something clashed.
_CLEAN, _CLASHED = 0, 1


class MergeConflict(Record):
    """A path that two branches changed in ways that git cannot put together."""

    path: str
    #: What kind of clash it is, in git's words: ``contents``, ``modify/delete``, and so on.
    kind: str
    #: How many places of the text clash, 0 where there is no text to look at.
    hunks: int = 0


class MergeOutcome(Record):
    """What came of a merge; without clashes ``tree`` is the result."""

    tree: str
    clashes: tuple[MergeConflict, ...] = ()


def merged(git: GitCalls, ours: str, theirs: str) -> MergeOutcome:
    """Merge two commits; nothing but objects is written."""
    # Files must not wander into folders by a guess: scope is checked by path.
    said = git.run(
        "-c", "merge.directoryRenames=conflict", "merge-tree", "--write-tree", "-z", "--messages",
        "--end-of-options", ours, theirs,
    )  # fmt: skip
    if said.code not in (_CLEAN, _CLASHED):
        last = said.err.splitlines()[-1] if said.err else f"exit status {said.code}"
        raise Unavailable(f"git merge-tree failed: {last}", code="GIT_FAILED")
    fields = iter(said.out.split(b"\0"))
    tree = next(fields).decode().strip()
    if said.code == _CLEAN:
        return MergeOutcome(tree)
    paths = _stages(fields)
    kinds = _kinds(fields)
    named = dict.fromkeys([*paths, *kinds])
    clashes = [
        MergeConflict(path, kinds.get(path, "contents"), _hunks(git, tree, path)) for path in named
    ]
    return MergeOutcome(tree, tuple(clashes))


def _stages(fields: Iterator[bytes]) -> list[str]:
    """Return the paths with more than one version, up to the empty field that ends them."""
    paths: dict[str, None] = {}
    for field in fields:
        if not field:
            break
        paths[os.fsdecode(field.partition(b"\t")[2])] = None
    return list(paths)


def _kinds(fields: Iterator[bytes]) -> dict[str, str]:
    """Return the kind of clash of each path, from git's messages."""
    kinds: dict[str, str] = {}
    for count in fields:
        if not count.strip():
            break
        paths = [os.fsdecode(next(fields)) for _ in range(int(count))]
        kind = next(fields).decode("utf-8", "replace")
        next(fields, b"")  # the same in a sentence
        if kind.startswith("CONFLICT") and paths:
            kinds.setdefault(paths[0], kind.removeprefix("CONFLICT").strip(" ()"))
    return kinds


def _hunks(git: GitCalls, tree: str, path: str) -> int:
    """Count the places that clash, by the marks in the merged text."""
    said = git.run("cat-file", "blob", f"{tree}:{path}")
    return 0 if said.code else sum(line.startswith(b"<<<<<<< ") for line in said.out.split(b"\n"))
