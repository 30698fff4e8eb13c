"""Where branches stand, and how their histories go together."""

from __future__ import annotations

import os

from dibs.core.changes.forecasts import Ancestry, ChangedPaths, touched
from dibs.git.refs import HEADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.git.calls import GitCalls

#: The mode of a folder in a list of changes.
_FOLDER = b"040000 "


def branches(git: GitCalls, *names: str) -> dict[str, str]:
    """Return the commits of branches: of those named, and of those below a name that ends in a slash."""
    refs = [f"{HEADS}{name}" for name in names]
    said = git.must("for-each-ref", "--format=%(objectname) %(refname)", "--", *refs)
    rows = (os.fsdecode(line).partition(" ") for line in said.splitlines())
    found = {ref.removeprefix(HEADS): oid for oid, _, ref in rows}
    return {
        name: oid
        for name, oid in found.items()
        if name in names or any(n.endswith("/") and name.startswith(n) for n in names)
    }


def ancestry(git: GitCalls, heads: Sequence[str]) -> Ancestry:
    """Read how some commits go together; what all have in common is not read."""
    distinct = list(dict.fromkeys(heads))
    given = "".join(f"{head}\n" for head in distinct)
    said = git.run("merge-base", "--octopus", "--all", "--end-of-options", *distinct)
    common = said.out.decode().split()
    given += "".join(f"^{commit}\n" for commit in common)
    listed = git.must("rev-list", "--topo-order", "--parents", "--stdin", given=given.encode())
    parents = {}
    for line in listed.decode().splitlines():
        commit, *above = line.split()
        parents[commit] = above
    return Ancestry(distinct, parents, common)


def changes(git: GitCalls, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], ChangedPaths]:
    """Return what changed from the first to the second of each two commits."""
    wanted = list(pairs)
    if not wanted:
        return {}
    given = "".join(f"{new} {old}\n" for old, new in wanted).encode()
    said = git.must(
        "diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--always", "--stdin", given=given
    )
    found: list[tuple[list[tuple[str, str]], list[str]]] = []
    words = iter(said.split(b"\0"))
    for word in words:
        if word.startswith(b":"):
            path, how = os.fsdecode(next(words)), word.rsplit(b" ", 1)[1].decode()
            if _FOLDER not in word:
                found[-1][0].append((path, how))
            elif how == "D":
                found[-1][1].append(path)
        elif word:
            found.append(([], []))
    return {pair: touched(*rows) for pair, rows in zip(wanted, found, strict=True)}
