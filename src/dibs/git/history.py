"""What a branch has that another lacks: its commits, and the paths that each of them changed."""

from __future__ import annotations

import os

from dibs.core.values import Record
from dibs.errors import Unavailable
from dibs.git.merging import merged
from dibs.git.trees import differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.git.calls import GitCalls

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
    paths = _paths(git, [commit.oid for commit in logged])
    found = []
    for commit in logged:
        own = paths.get(commit.oid, [])
        if len(commit.parents) == 2:  # noqa: PLR2004 - a merge of two
            own = _by_hand(git, commit)
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


def _paths(git: GitCalls, oids: Sequence[str]) -> dict[str, list[str]]:
    """Return what each commit changed, by one process; a root commit changed all that it has."""
    if not oids:
        return {}
    given = "".join(f"{oid}\n" for oid in oids).encode()
    out = git.must(
        "diff-tree", "--stdin", "-r", "-c", "-z", "--root", "--no-renames", "--raw", given=given
    )
    found: dict[str, list[str]] = {}
    fields = iter(out.split(b"\0")[:-1])
    current: list[str] | None = None
    for field in fields:
        if not field.startswith(b":"):  # a commit; its entries follow, each with its path
            current = found.setdefault(field.decode().strip(), [])
        elif current is None:
            raise Unavailable("git diff-tree named no commit")
        else:
            current.append(os.fsdecode(next(fields)))
    return found
