"""Which work would conflict: what has to be merged to know, and what is new to tell. Pure."""

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
    "NotCovered",
    "Pair",
    "Party",
    "can_meet",
    "touched",
]


class ForecastConflict(Record):
    """A path at which two sides conflict."""

    path: str
    #: In git's words: content, add/add, modify/delete, rename/rename, binary and so on.
    kind: str
    note: str
    hunks: tuple[Hunk, ...]


class Party(Record):
    """One whose work is compared: an agent's working tree, a branch, the integration branch."""

    name: str
    #: The working tree; empty for a branch that is checked out nowhere.
    path: str
    branch: str
    head: str
    #: What is compared: ``head``, or a commit on it that holds what is not committed yet.
    commit: str
    #: How many paths differ from ``head``.
    dirty: int = 0
    #: Whether this is what all work is merged into.
    base: bool = False


class Pair(Record):
    """Two parties whose work does not go together."""

    one: str
    other: str
    clashes: tuple[ForecastConflict, ...]
    #: Why nothing can be said of the two; then there are no clashes.
    why: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Return both names."""
        return self.one, self.other

    @property
    def digest(self) -> str:
        """Return a short text that is the same for the same set of files."""
        paths = "\0".join(sorted(clash.path for clash in self.clashes))
        return hashlib.sha256(paths.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class NotCovered(Record):
    """What a forecast does not cover, and why."""

    party: str
    path: str
    why: str


class Forecast(Record):
    """What would conflict now."""

    base: str
    parties: tuple[Party, ...]
    #: The pairs that conflict, or that cannot be merged at all.
    pairs: tuple[Pair, ...]
    left: tuple[NotCovered, ...]
    #: All pairs that were compared, by their names.
    compared: tuple[tuple[str, str], ...] = ()
    #: How many of these could meet, and how many had to be merged now.
    met: int = 0
    merged: int = 0


# -- what can conflict at all


class ChangedPaths(Record):
    """What one side changed since a common base."""

    paths: frozenset[str]
    #: All folders above ``paths``.
    folders: frozenset[str]
    #: The folders of which nothing is left, and those above a path that is new.
    vanished: frozenset[str]
    filled: frozenset[str]


def touched(changes: Iterable[tuple[str, str]], vanished: Iterable[str] = ()) -> ChangedPaths:
    """Sort changes, each a path and one of ``A`` (new), ``D`` (gone) and ``M`` (other)."""
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
    """Return what either of two lists of changes touched."""
    return ChangedPaths(*(a | b for a, b in zip(one, other, strict=True)))


def above(path: str) -> Iterator[str]:
    """Yield the folders that a path lies in, but for the top."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def can_meet(one: ChangedPaths, other: ChangedPaths) -> bool:
    """Tell whether two sides could conflict; where this says no, their merge is clean.

    They can meet at a path that both touched, which covers renames (the old path is gone, the new one is
    new), and where a path of one is a folder of the other. A folder that one side renamed draws along what
    the other side put into it; git counts a folder as renamed only if nothing is left of it.
    """
    return not (
        one.paths.isdisjoint(other.paths)
        and one.paths.isdisjoint(other.folders)
        and other.paths.isdisjoint(one.folders)
        and one.vanished.isdisjoint(other.filled)
        and other.vanished.isdisjoint(one.filled)
    )


# -- where histories part


class Ancestry:
    """The best common ancestors of any two of some commits.

    ``parents`` lists commits, children before parents, with their parents. ``common`` are ancestors of all
    of ``heads``; nothing above them needs to be listed.
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
        #: Commits at which heads meet that no child of theirs brings together.
        self._meetings = [
            (commit, mask, children.get(commit, []))
            for commit, mask in reached.items()
            if mask & (mask - 1) and mask not in children.get(commit, ())
        ]

    def bases(self, one: str, other: str) -> list[str]:
        """Return the best common ancestors of two heads: one as a rule, none if they are unrelated."""
        both = self._bits[one] | self._bits[other]
        if one == other:
            return [one]
        return sorted(
            commit
            for commit, mask, children in self._meetings
            if mask & both == both and not any(child & both == both for child in children)
        )

    def holds(self, head: str, ancestor: str) -> bool:
        """Tell whether ``ancestor``, a head as well, is in the history of ``head``."""
        return bool(self._reached[ancestor] & self._bits[head])


# -- what is new to tell


def news(before: Iterable[Pair], now: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that conflict otherwise than before, and those that do not any more."""
    known = {pair.names: pair for pair in before}
    current = {pair.names: pair for pair in now}
    fresh = [pair for names, pair in current.items() if known.get(names) != pair]
    return fresh, [pair for names, pair in known.items() if names not in current]
