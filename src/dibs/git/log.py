"""What a branch has that another lacks: its commits, and the paths that each of them changed."""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git.merge_tree import merged
from dibs.git.trees import differences, parsed
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange

#: One record for each commit; a message holds no NUL.
_FORMAT = "%H%n%P%n%ct%n%an%n%B%x00"


class Logged(Record):
    """A commit as the history has it."""

    oid: str
    parents: tuple[str, ...]
    #: When it was committed, by the clock of whoever did; seconds of Unix time.
    at: int
    author: str
    message: str
    #: What it changed; of a merge what is not as git itself would have merged it.
    paths: tuple[str, ...] = ()


def commits(git: GitCalls, old: str, new: str) -> list[Logged]:
    """Return the commits that are in ``new`` and not in ``old``, parents first, with their paths."""
    logged = _listed(git, "--end-of-options", new, f"^{old}")
    changes = _changes(git, [commit.oid.encode() for commit in logged])
    found = []
    for commit in logged:
        own = list(changes.get(commit.oid, ()))
        if len(commit.parents) > 1:
            joined = _by_hand if len(commit.parents) == 2 else _by_hand_of_many  # noqa: PLR2004
            own = joined(git, commit)
        found.append(commit._replace(paths=tuple(own)))
    return found


def _by_hand(git: GitCalls, merge: Logged) -> list[str]:
    """Return what somebody wrote into a merge: where it differs from what git makes of its parents.

    A merge that keeps one side and drops the other is found out by this; one that only joins is empty.
    """
    try:
        made = merged(git, *merge.parents)
    except Unavailable:  # histories without a common start: all that it has is its own
        return [change.path for change in differences(git, merge.parents[0], merge.oid)]
    return [change.path for change in differences(git, made.tree, merge.oid)]


def _by_hand_of_many(git: GitCalls, merge: Logged) -> list[str]:
    """Return the same of a merge of more than two, where a file that two of them changed counts, too."""
    said = git.run("merge-base", "--octopus", "--end-of-options", *merge.parents)
    base = "" if said.code else said.out.decode().split()[0]
    sides: dict[str, set[tuple[str, str]]] = {}
    for parent in merge.parents:
        for change in differences(git, base, parent):
            sides.setdefault(change.path, set()).add((change.new_mode, change.new_oid))
    made = {c.path: {(c.new_mode, c.new_oid)} for c in differences(git, base, merge.oid)}
    joined = {path for path, versions in sides.items() if len(versions) == 1}
    return [
        path
        for path in sorted(sides.keys() | made.keys())
        if path not in joined or made.get(path) != sides[path]
    ]


def last_change(git: GitCalls, old: str, new: str, path: str) -> Logged | None:
    """Return the newest commit of ``old..new`` that changed ``path``, but for merges."""
    found = _listed(git, "--no-merges", "--end-of-options", new, f"^{old}", "--", path)
    return found[-1] if found else None


def renamed(git: GitCalls, old: str, new: str) -> dict[str, str]:
    """Return the paths that were renamed between two commits: what each was before."""
    out = git.must("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--end-of-options", old, new)
    fields = iter(out.split(b"\0")[:-1])
    return {os.fsdecode(after): os.fsdecode(before) for _, before, after in _triples(fields)}


def _triples(fields: Iterator[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    for head in fields:
        yield head, next(fields), next(fields)


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
    """Return what commits changed, by path, of those that are here; merges are left out."""
    given = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
    there = git.must("cat-file", "--batch-check=%(objectname) %(objecttype)", given=given)
    here = [line.split()[0] for line in there.splitlines() if line.endswith(b" commit")]
    return _changes(git, here)


def _changes(git: GitCalls, oids: Sequence[bytes]) -> dict[str, dict[str, TreeChange]]:
    """Return what each commit changed, by path, but for merges; a root commit changed all that it has."""
    if not oids:
        return {}
    out = git.must(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--raw", "--no-abbrev",
        given=b"".join(oid + b"\n" for oid in oids),
    )  # fmt: skip
    return {oid: {c.path: c for c in parsed(raw)} for oid, raw in _by_commit(out)}


def is_same(git: GitCalls, one: TreeChange, other: TreeChange) -> bool:
    """Tell whether two changes of a file do the same, wherever in the file they do it."""
    if one == other:
        return True
    modes = (one.old_mode, one.new_mode)
    if modes != (other.old_mode, other.new_mode) or not all(m.startswith("100") for m in modes):
        return False
    return _lines(git, one) == _lines(git, other)


def _lines(git: GitCalls, change: TreeChange) -> list[bytes]:
    """Return which lines go and come, without their numbers."""
    ends = (change.old_oid, change.new_oid)
    out = git.must("diff", "--unified=0", "--text", "--no-color", "--end-of-options", *ends)
    lines = out.split(b"\n")
    start = next((at for at, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    return [b"@@" if line.startswith(b"@@") else line for line in lines[start:]]


def _by_commit(out: bytes) -> Iterator[tuple[str, bytes]]:
    """Cut what ``diff-tree --stdin --raw -z`` says of several commits into the part of each."""
    fields = iter(out.split(b"\0")[:-1])
    oid, rows = "", []
    for field in fields:
        if field.startswith(b":"):
            if not oid:
                raise Unavailable("git diff-tree named no commit")
            rows += [field, next(fields)]
        else:  # a commit; its entries follow, each with its path
            if oid:
                yield oid, b"\0".join(rows)
            oid, rows = field.decode().strip(), []
    if oid:
        yield oid, b"\0".join(rows)
