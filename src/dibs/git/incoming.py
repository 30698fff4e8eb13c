"""Find the commits that a branch update adds and no other ref has, and what each of them changes.

Git hooks use this at every commit, so this module imports little.
"""

from __future__ import annotations

import os
from itertools import combinations

from dibs.core.claims.plain_commits import PlainCommit, only_new
from dibs.errors import DibsError, Unavailable
from dibs.git.trees import differences, sections
from dibs.local.files import read_or_empty
from dibs.local.repository import git_dir_at
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls

#: The most new commits in one update.
MOST = 5_000
#: Git can repeat a merge of two sides. It makes a merge of more sides only if they have no conflicts.
_PAIR = 2
#: Refs whose commits are not new, because a check precedes each of their updates. Anyone can put a commit
#: under any other ref, such as a tag.
KNOWN = ("--branches", "--remotes")
_OBJECT_NAMES = (40, 64)
_FILE = "file://"
#: How git shows the place of a local repository: without these at its end.
_ENDINGS = ("", ".git", "/.git")


class PathChange(Record):
    """One path of a commit: before and after, each as mode and object; empty for no file.

    In a merge, ``before`` has all sides.
    """

    path: str
    before: str
    after: str


class NewCommit(Record):
    """A commit and its changes; for a merge, what differs from all sides or from git's own merge."""

    oid: str
    changes: tuple[PathChange, ...]


def is_object(word: str) -> bool:
    """Return whether a word is an object name, and not something like ``ref:NAME``."""
    return len(word) in _OBJECT_NAMES and set("0123456789abcdef").issuperset(word)


def is_nothing(oid: str) -> bool:
    """Return whether a name is git's null object name."""
    return not oid.strip("0")


def new_commits(
    git: GitCalls, tip: str, beyond: Sequence[str] = (), *, known: Sequence[str] = KNOWN
) -> list[NewCommit]:
    """Return the commits in ``tip`` that neither the refs ``known`` nor the commits ``beyond`` have."""
    wanted = [tip, *(f"^{oid}" for oid in beyond if oid and not is_nothing(oid))]
    given = "".join(f"{line}\n" for line in wanted).encode()
    limit = f"--max-count={MOST + 1}"
    argv = ("rev-list", limit, "--ignore-missing", "--stdin")
    out = git.must(*argv, *(("--not", *known) if known else ()), given=given)
    oids = out.decode().split()
    if not oids:  # a missing tip would look as if it added nothing
        git.must("cat-file", "-e", tip)
    if len(oids) > MOST:
        raise Unavailable(
            f"{tip[:12]} adds more than {MOST} commits at once, too many to check",
            code="TOO_MANY_COMMITS",
            hint="fetch or push them in smaller parts",
        )
    return list(_new(git, oids)) if oids else []


def brought(
    git: GitCalls,
    old: str,
    new: str,
    beyond: Sequence[str] = (),
    *,
    known: Sequence[str] = KNOWN,
) -> list[PlainCommit]:
    """Return the commits that a branch gains from ``old`` to ``new`` and that no ref in ``known`` has."""
    commits = new_commits(git, new, [oid for oid in (old, *beyond) if oid], known=known)
    if not commits:
        return []
    # An amended or rebased branch drops commits; repeating their changes is allowed.
    gone = new_commits(git, old, [new], known=()) if old else []
    replaced = [commit.changes for commit in gone]
    return [PlainCommit(only_new(commit.changes, replaced), commit.oid) for commit in commits]


def _new(git: GitCalls, oids: Iterable[str]) -> Iterator[NewCommit]:
    """Yield the changes of each commit, with one git process, and one more if there are merges."""
    given = "".join(f"{oid}\n" for oid in oids).encode()
    out = git.must(
        "diff-tree", "--stdin", "--root", "-r", "-c", "-z", "--raw", "--no-renames", "--always",
        "--no-abbrev", "--format=%x00%H %P", given=given,
    )  # fmt: skip
    found = list(sections(out))
    merges = [commit for (commit, *parents), _ in found if len(parents) == _PAIR]
    decided = _decided(git, merges) if merges else {}
    for (commit, *parents), _ in found:
        if len(parents) > _PAIR:
            decided[commit] = _dropped(git, commit, parents)
    for (commit, *_), rows in found:
        yield NewCommit(commit, (*map(_path_change, rows), *decided.get(commit, ())))


def _decided(git: GitCalls, merges: Iterable[str]) -> dict[str, list[PathChange]]:
    """Return where merges differ from git's own merge, for example because one side was dropped."""
    given = "".join(f"{oid}\n" for oid in merges).encode()
    out = git.must(
        "log", "--no-walk=unsorted", "--stdin", "--remerge-diff", "-z", "--raw", "--no-renames",
        "--no-abbrev", "--format=%x00%H", given=given,
    )  # fmt: skip
    return {names[0]: [*map(_path_change, rows)] for names, rows in sections(out)}


def _dropped(git: GitCalls, merge: str, sides: Sequence[str]) -> list[PathChange]:
    """Return where a merge of more than two sides differs from a side that no other side is ahead of."""
    ahead: list[set[str]] = [set() for _ in sides]
    for (one, left), (two, right) in combinations(enumerate(sides), 2):
        found = git.run("merge-base", "--end-of-options", left, right).out.decode().split()
        paths = [
            {c.path for c in differences(git, (*found, "")[0], side)} for side in (left, right)
        ]
        ahead[one] |= paths[1] - paths[0]
        ahead[two] |= paths[0] - paths[1]
    rows = [
        (c.path, *("" if is_nothing(oid) else f"{mode} {oid}" for mode, oid in (c.after, c.before)))
        for side, behind in zip(sides, ahead, strict=True)
        for c in differences(git, merge, side)
        if c.path not in behind
    ]
    return [PathChange(*row) for row in dict.fromkeys(rows)]


def _path_change(row: tuple[str, str]) -> PathChange:
    """Parse one row, which has a mode and an object for each side and for the result."""
    about, path = row
    parts = about.lstrip(":").split(" ")
    count = len(parts) // 2
    sides = [
        "" if is_nothing(oid) else f"{mode} {oid}"
        for mode, oid in zip(parts[:count], parts[count:], strict=False)
    ]
    return PathChange(path, ", ".join(sides[:-1]), sides[-1])


# -- where fetched commits come from


def fetched(git: GitCalls, common: str, git_dir: str) -> list[str]:
    """Return the commits that the last fetch got from another repository: they are not this caller's."""
    text = read_or_empty(os.path.join(git_dir, "FETCH_HEAD")).decode("utf-8", "replace")
    rows = [line.split("\t", 2) for line in text.split("\n")]
    return [
        row[0]
        for row in rows
        if is_object(row[0]) and not is_same(row[-1].rpartition(" of ")[2], common, git.tree)
    ]


def is_same(place: str, common: str, tree: str) -> bool:
    """Return whether a place that git can fetch from is this repository, or a file such as a bundle."""
    path = place.removeprefix(_FILE)
    if path in {"", "."} or (path == place and "://" in path):
        return path in {"", "."}
    if path != place and "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    whole = os.path.join(tree, os.path.expanduser(path))
    if os.path.isfile(whole):
        return True
    for ending in _ENDINGS:
        try:
            found = git_dir_at(whole + ending)
        except (DibsError, OSError, ValueError):
            continue
        if found:
            return os.path.realpath(found) == os.path.realpath(common)
    return False
