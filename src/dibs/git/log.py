"""List commits that one side has and another lacks, and what each of them changes."""

from __future__ import annotations

import os

from dibs.core.changes.forecasts import Ancestry, touched
from dibs.errors import Unavailable
from dibs.git.merge_tree import merged
from dibs.git.objects import FILES
from dibs.git.trees import changes_in, differences, sections
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.changes.forecasts import ChangedPaths
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange

#: One record for each commit; a message cannot contain NUL.
_FORMAT = "%H%n%P%n%ct%n%an%n%B%x00"
#: The mode of a folder in a row of changes.
_FOLDER = "040000 "


class Logged(Record):
    """A commit in the history."""

    oid: str
    parents: tuple[str, ...]
    #: The commit time by the committer's clock, in seconds of Unix time.
    at: int
    author: str
    message: str
    #: The changed paths; for a merge, those that differ from git's own merge.
    paths: tuple[str, ...] = ()


def commits(git: GitCalls, old: str, new: str) -> list[Logged]:
    """Return the commits in ``new`` that are not in ``old``, parents first, with their paths."""
    logged = _listed(git, "--end-of-options", new, f"^{old}")
    changes = _changes(git, [commit.oid.encode() for commit in logged])
    found = []
    for commit in logged:
        own = list(changes.get(commit.oid, ()))
        if len(commit.parents) > 1:
            two = len(commit.parents) == 2  # noqa: PLR2004
            own = (_differences_from_merge if two else _differences_from_octopus)(git, commit)
        found.append(commit._replace(paths=tuple(own)))
    return found


def _differences_from_merge(git: GitCalls, merge: Logged) -> list[str]:
    """Return the paths where a merge differs from git's own merge of its parents.

    This finds merges that drop one side; a plain merge has none.
    """
    try:
        made = merged(git, *merge.parents)
    except Unavailable:  # unrelated histories: everything differs
        return [change.path for change in differences(git, merge.parents[0], merge.oid)]
    return [change.path for change in differences(git, made.tree, merge.oid)]


def _differences_from_octopus(git: GitCalls, merge: Logged) -> list[str]:
    """Return the same for a merge of more than two parents, plus files that two of them changed."""
    result = git.run("merge-base", "--octopus", "--end-of-options", *merge.parents)
    base = "" if result.code else result.out.decode().split()[0]
    sides: dict[str, set[tuple[str, str]]] = {}
    for parent in merge.parents:
        for change in differences(git, base, parent):
            sides.setdefault(change.path, set()).add(change.after)
    made = {c.path: {c.after} for c in differences(git, base, merge.oid)}
    joined = {path for path, versions in sides.items() if len(versions) == 1}
    return [
        path
        for path in sorted(sides.keys() | made.keys())
        if path not in joined or made.get(path) != sides[path]
    ]


def last_change(git: GitCalls, old: str, new: str, path: str) -> Logged | None:
    """Return the newest commit of ``old..new`` that changed ``path``, ignoring merges."""
    found = _listed(git, "--no-merges", "--end-of-options", new, f"^{old}", "--", path)
    return found[-1] if found else None


def renamed(git: GitCalls, old: str, new: str) -> dict[str, str]:
    """Return the paths that were renamed between two commits, with their old names."""
    out = git.must("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--end-of-options", old, new)
    fields = os.fsdecode(out).split("\0")
    return dict(zip(fields[2::3], fields[1::3], strict=False))


def _listed(git: GitCalls, *which: str) -> list[Logged]:
    out = git.must(
        "rev-list", "--topo-order", "--reverse", "--no-commit-header", "--encoding=UTF-8",
        f"--format={_FORMAT}", *which,
    )  # fmt: skip
    records = out.decode("utf-8", "replace").split("\0\n")
    return [_logged(record) for record in records if record]


def _logged(record: str) -> Logged:
    oid, parents, at, author, message = record.split("\n", 4)
    return Logged(oid, tuple(parents.split()), int(at or 0), author, message)


def changes_of(git: GitCalls, oids: Iterable[str]) -> dict[str, dict[str, TreeChange]]:
    """Return the changes of the commits that exist here, by path, ignoring merges."""
    given = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
    there = git.must("cat-file", "--batch-check=%(objectname) %(objecttype)", given=given)
    here = [line.split()[0] for line in there.splitlines() if line.endswith(b" commit")]
    return _changes(git, here)


def _changes(git: GitCalls, oids: Sequence[bytes]) -> dict[str, dict[str, TreeChange]]:
    """Return the changes of each commit by path, ignoring merges; a root commit adds all its files."""
    if not oids:
        return {}
    out = git.must(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--raw", "--no-abbrev",
        given=b"".join(oid + b"\n" for oid in oids),
    )  # fmt: skip
    return {names[0]: {c.path: c for c in changes_in(rows)} for names, rows in sections(out)}


def is_same(git: GitCalls, one: TreeChange, other: TreeChange) -> bool:
    """Return whether two changes of a file add and remove the same lines, wherever in the file."""
    if one == other:
        return True
    modes = (one.old_mode, one.new_mode)
    if modes != (other.old_mode, other.new_mode) or not all(m in FILES for m in modes):
        return False
    return _lines(git, one) == _lines(git, other)


def _lines(git: GitCalls, change: TreeChange) -> list[bytes]:
    """Return the removed and added lines, without line numbers."""
    ends = (change.old_oid, change.new_oid)
    out = git.must("diff", "--unified=0", "--text", "--no-color", "--end-of-options", *ends)
    lines = out.split(b"\n")
    start = next((at for at, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    return [b"@@" if line.startswith(b"@@") else line for line in lines[start:]]


# -- comparing histories


def ancestry(git: GitCalls, heads: Sequence[str]) -> Ancestry:
    """Read the ancestry of some commits, down to what all have in common."""
    distinct = list(dict.fromkeys(heads))
    given = "".join(f"{head}\n" for head in distinct)
    result = git.run("merge-base", "--octopus", "--all", "--end-of-options", *distinct)
    common = result.out.decode().split()
    given += "".join(f"^{commit}\n" for commit in common)
    listed = git.must("rev-list", "--topo-order", "--parents", "--stdin", given=given.encode())
    parents = {}
    for line in listed.decode().splitlines():
        commit, *above = line.split()
        parents[commit] = above
    return Ancestry(distinct, parents, common)


def changes_between(
    git: GitCalls, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], ChangedPaths]:
    """Return what changed between the two commits of each pair."""
    wanted = list(pairs)
    if not wanted:
        return {}
    given = "".join(f"{new} {old}\n" for old, new in wanted).encode()
    out = git.must(
        "diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--always", "--stdin", given=given
    )
    found = []
    for _, rows in sections(out):
        changed = [(path, about[-1]) for about, path in rows if _FOLDER not in about]
        emptied = [path for about, path in rows if _FOLDER in about and about[-1] == "D"]
        found.append(touched(changed, emptied))
    return dict(zip(wanted, found, strict=True))
