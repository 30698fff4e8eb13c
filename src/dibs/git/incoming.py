"""What an update of a branch brings: the commits that no other ref has, and what each of them changes.

Git hooks ask this at every commit, so this module loads little.
"""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.git.trees import sections
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls

#: How many new commits of one update are looked at.
MOST = 5_000
#: Git can merge two sides again; a merge of more has none that conflict.
_PAIR = 2
#: Refs whose commits are not new. Tags count: a branch that starts at one brings nothing.
KNOWN = ("--branches", "--remotes", "--tags", "--glob=refs/salvage/*")


class PathChange(Record):
    """One path of a commit: what it was and has become, each as mode and object; empty for no file.

    In a merge it was something else on each side.
    """

    path: str
    before: str
    after: str


class NewCommit(Record):
    """A commit with what it changes; of a merge, what differs from all that it merges, or was decided."""

    oid: str
    changes: tuple[PathChange, ...]


def is_nothing(oid: str) -> bool:
    """Return whether a name is the one that git gives to no object at all."""
    return not oid.strip("0")


def new_commits(
    git: GitCalls, tip: str, beyond: Sequence[str] = (), *, known: Sequence[str] = KNOWN
) -> list[NewCommit]:
    """Return what ``tip`` has and neither the refs ``known`` nor the commits ``beyond`` have."""
    wanted = [tip, *(f"^{oid}" for oid in beyond if oid and not is_nothing(oid))]
    given = "".join(f"{line}\n" for line in wanted).encode()
    limit = f"--max-count={MOST + 1}"
    argv = ("rev-list", limit, "--ignore-missing", "--stdin")
    out = git.must(*argv, *(("--not", *known) if known else ()), given=given)
    oids = out.decode().split()
    if not oids:  # a tip that is not there would look as if it brought nothing
        git.must("cat-file", "-e", tip)
    if len(oids) > MOST:
        raise Unavailable(
            f"{tip[:12]} brings more than {MOST} commits at once, too many to look at",
            code="TOO_MANY_COMMITS",
            hint="fetch or push them in parts",
        )
    return list(_new(git, oids)) if oids else []


def _new(git: GitCalls, oids: Iterable[str]) -> Iterator[NewCommit]:
    """Read what each commit changes: one process for all, one more where some of them are merges."""
    given = "".join(f"{oid}\n" for oid in oids).encode()
    out = git.must(
        "diff-tree", "--stdin", "--root", "-r", "-c", "-z", "--raw", "--no-renames", "--always",
        "--no-abbrev", "--format=%x00%H %P", given=given,
    )  # fmt: skip
    found = list(sections(out))
    merges = [commit for (commit, *parents), _ in found if len(parents) == _PAIR]
    decided = _decided(git, merges) if merges else {}
    for (commit, *_), rows in found:
        yield NewCommit(commit, (*map(_path_change, rows), *decided.get(commit, ())))


def _decided(git: GitCalls, merges: Iterable[str]) -> dict[str, list[PathChange]]:
    """Return what is not as git itself would merge it: also where one side was taken, and the other lost."""
    given = "".join(f"{oid}\n" for oid in merges).encode()
    out = git.must(
        "log", "--no-walk=unsorted", "--stdin", "--remerge-diff", "-z", "--raw", "--no-renames",
        "--no-abbrev", "--format=%x00%H", given=given,
    )  # fmt: skip
    return {names[0]: [*map(_path_change, rows)] for names, rows in sections(out)}


def _path_change(row: tuple[str, str]) -> PathChange:
    """Read one row, which has a mode and an object for each side of a merge, and for the result."""
    about, path = row
    parts = about.lstrip(":").split(" ")
    count = len(parts) // 2
    sides = [
        "" if is_nothing(oid) else f"{mode} {oid}"
        for mode, oid in zip(parts[:count], parts[count:], strict=False)
    ]
    return PathChange(path, ", ".join(sides[:-1]), sides[-1])
