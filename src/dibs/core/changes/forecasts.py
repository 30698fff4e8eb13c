"""Forecasts: which pairs can conflict at all, their common ancestors, and what is new. Pure."""

from __future__ import annotations

import hashlib

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dibs.core.changes.hunks import Hunk

__all__ = [
    "Ancestry",
    "ChangedPaths",
    "Forecast",
    "ForecastConflict",
    "HunkLines",
    "NotCovered",
    "Pair",
    "Party",
    "can_meet",
    "touched",
]


class ForecastConflict(Record):
    """A path at which two sides conflict."""

    path: str
    #: Git's term: content, add/add, modify/delete, rename/rename, binary, and so on.
    kind: str
    note: str
    hunks: tuple[Hunk, ...]


class Party(Record):
    """One side of a comparison: a working tree, an agent's branch, or the integration branch."""

    name: str
    #: The working tree; empty for a branch that is not checked out.
    path: str
    branch: str
    head: str
    #: What is compared: ``head``, or a temporary commit on it with the uncommitted changes.
    commit: str
    #: How many paths differ from ``head``.
    dirty: int = 0
    #: Whether this is the integration branch.
    base: bool = False


class Pair(Record):
    """Two parties whose work conflicts."""

    one: str
    other: str
    clashes: tuple[ForecastConflict, ...]
    #: Why the two cannot be compared; there are then no clashes.
    why: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Both names."""
        return self.one, self.other

    @property
    def digest(self) -> str:
        """A short text that identifies the set of files."""
        paths = "\0".join(sorted(clash.path for clash in self.clashes))
        return hashlib.sha256(paths.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class NotCovered(Record):
    """Something that a forecast does not cover, and why."""

    party: str
    path: str
    why: str


class HunkLines(Record):
    """The conflicting lines of both sides, as text; long ones are cut."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    cut: bool = False


#: The most lines of a hunk on each side, and characters of a line.
MOST_LINES, LONGEST_LINE = 100, 400


def hunk_lines(one: bytes, other: bytes, hunk: Hunk) -> HunkLines:
    """Return the lines of a hunk, given the content of both files."""
    first, count, second, number = hunk
    ours, theirs = _some(one, first, count), _some(other, second, number)
    return HunkLines(ours, theirs, max(count, number) > MOST_LINES)


def _some(content: bytes, first: int, count: int) -> tuple[str, ...]:
    chosen = content.splitlines()[first - 1 :][: min(count, MOST_LINES)]
    return tuple(line.decode("utf-8", "replace")[:LONGEST_LINE] for line in chosen)


class Forecast(Record):
    """The conflicts that a merge of all work would have now."""

    base: str
    parties: tuple[Party, ...]
    #: The pairs that conflict, or that cannot be merged at all.
    pairs: tuple[Pair, ...]
    left: tuple[NotCovered, ...]
    #: The names of all pairs that were compared.
    compared: tuple[tuple[str, str], ...] = ()
    #: How many of these can conflict at all, and how many were merged now.
    met: int = 0
    merged: int = 0
    #: If asked for: the lines of each hunk, by the two names and the path.
    lines: Mapping[tuple[str, str, str], tuple[HunkLines, ...]] | None = None


# -- what can conflict at all


class ChangedPaths(Record):
    """The paths that one side changed since a common ancestor."""

    paths: frozenset[str]
    #: All folders above ``paths``.
    folders: frozenset[str]
    #: The folders that no longer exist, and the parent folders of new paths.
    vanished: frozenset[str]
    filled: frozenset[str]


def touched(changes: Iterable[tuple[str, str]], vanished: Iterable[str] = ()) -> ChangedPaths:
    """Sort changes, each a path and one of ``A`` (added), ``D`` (deleted), and ``M`` (other)."""
    paths, filled = set(), set()
    folders: set[str] = set()
    for path, how in changes:
        paths.add(path)
        higher = list(above(path))
        folders.update(higher)
        if how == "A":
            filled.update(higher)
    return ChangedPaths(
        frozenset(paths), frozenset(folders), frozenset(vanished), frozenset(filled)
    )


def joined(one: ChangedPaths, other: ChangedPaths) -> ChangedPaths:
    """Return the union of two sets of changes."""
    return ChangedPaths(*(a | b for a, b in zip(one, other, strict=True)))


def above(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, except the top."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def can_meet(one: ChangedPaths, other: ChangedPaths) -> bool:
    """Return whether two sides could conflict; if not, their merge is certainly clean.

    They can conflict at a path that both changed (a rename deletes the old path and adds the new one), or
    where a path of one side is a folder of the other. If one side renamed a folder, git moves the files that
    the other side added to it; git considers a folder renamed only if nothing is left of it.
    """
    return not (
        one.paths.isdisjoint(other.paths)
        and one.paths.isdisjoint(other.folders)
        and other.paths.isdisjoint(one.folders)
        and one.vanished.isdisjoint(other.filled)
        and other.vanished.isdisjoint(one.filled)
    )


# -- common ancestors


class Ancestry:
    """The best common ancestors of any two of ``heads``.

    ``parents`` lists commits with their parents, children first. ``common`` are ancestors of all ``heads``;
    nothing above them needs to be listed.
    """

    def __init__(
        self,
        heads: Sequence[str],
        parents: Mapping[str, Sequence[str]],
        common: Iterable[str] = (),
    ) -> None:
        self._bits = {head: 1 << place for place, head in enumerate(dict.fromkeys(heads))}
        everybody = (1 << len(self._bits)) - 1
        reached: dict[str, int] = dict.fromkeys(common, everybody)
        for head, bit in self._bits.items():
            reached[head] = reached.get(head, 0) | bit
        children: dict[str, list[int]] = {}
        for commit, above in parents.items():
            mine = reached.get(commit, 0)
            for parent in above:
                if parent in parents or reached.get(parent) == everybody:
                    reached[parent] = reached.get(parent, 0) | mine
                    children.setdefault(parent, []).append(mine)
        self._reached = reached
        #: Commits reachable from several heads, where no single child is reachable from the same heads.
        self._meetings = [
            (commit, mask, children.get(commit, []))
            for commit, mask in reached.items()
            if mask & (mask - 1) and mask not in children.get(commit, ())
        ]

    def bases(self, one: str, other: str) -> list[str]:
        """Return the best common ancestors of two heads: usually one, none if they are unrelated."""
        both = self._bits[one] | self._bits[other]
        if one == other:
            return [one]
        return sorted(
            commit
            for commit, mask, children in self._meetings
            if mask & both == both and not any(child & both == both for child in children)
        )

    def holds(self, head: str, ancestor: str) -> bool:
        """Return whether ``ancestor``, which is also a head, is in the history of ``head``."""
        return bool(self._reached[ancestor] & self._bits[head])


# -- what is new
