"""Which claims lie near each other, and which stand in each other's way. Pure.

Near is meant as people mean it: in the same folder, or in a tree that a glob covers. It warns, it refuses
nothing; so it looks at folders only, which is quick enough for a thousand claims.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dibs.core.claims.rules import compatible
from dibs.core.patterns.pattern import overlap, parse
from dibs.core.patterns.spelling import split_scheme
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns.pattern import Pattern

#: What makes a pattern more than one path: a wildcard, or a slash at its end, which means all below it.
_SPECIAL = re.compile(r"[*?\[\]{}\\]|/$")


class Area(Record):
    """Where the paths of a pattern are."""

    #: The folder, with a slash behind it; empty for the root. A named resource is a folder by itself.
    folder: str
    #: Whether they can be in folders below it, too.
    deep: bool
    #: Whether these are no paths.
    named: bool = False


@lru_cache(maxsize=4096)
def area(pattern: str) -> Area:
    """Return where the paths of a pattern are."""
    scheme, rest = split_scheme(pattern)
    if scheme:
        return Area(f"{scheme}:{rest.lower()}", False, True)
    rest = rest.lower()
    special = _SPECIAL.search(rest)
    if special is None:
        return Area(rest[: rest.rfind("/") + 1], False)
    if special.group() == "/":
        return Area(rest, True)
    folder = rest[: rest.rfind("/", 0, special.start()) + 1]
    tail = rest[len(folder) :]
    return Area(folder, "**" in tail or "/" in tail)


class Neighbourhood:
    """The areas of somebody's claims, to hold others against."""

    def __init__(self, patterns: Iterable[str]) -> None:
        areas = {area(pattern) for pattern in patterns}
        self._folders = {area.folder for area in areas}
        self._deep = tuple(area.folder for area in areas if area.deep)

    def near(self, pattern: str) -> bool:
        """Tell whether ``pattern`` is near one of the claims."""
        found = area(pattern)
        if found.folder in self._folders:
            return True
        if found.deep and any(folder.startswith(found.folder) for folder in self._folders):
            return True
        return found.folder.startswith(self._deep) if self._deep else False


class ConflictFinder:
    """Patterns with a mode, to find those that cannot be held beside a request.

    What is not needed is not read: a literal costs a look into a table, and a glob is read only when
    the folders fit.
    """

    def __init__(self, filed: Iterable[tuple[int, str, str]]) -> None:
        """Take patterns, each after the number of what it belongs to and before its mode."""
        self._literals: dict[str, list[tuple[int, str, str]]] = {}
        self._globs: list[tuple[int, str, str]] = []
        self._read: dict[str, Pattern | None] = {}
        for entry in filed:
            if _SPECIAL.search(entry[1]) is None:
                self._literals.setdefault(self._key(entry[1]), []).append(entry)
            else:
                self._globs.append(entry)

    def of(self, patterns: Iterable[str], mode: str) -> list[int]:
        """Return the numbers of what stands in the way of such a claim, in their order."""
        found: set[int] = set()
        for pattern in patterns:
            if _SPECIAL.search(pattern) is None:
                same = self._literals.get(self._key(pattern), [])
                close = same + [entry for entry in self._globs if self._meet(pattern, entry[1])]
            else:
                every = [entry for entries in self._literals.values() for entry in entries]
                close = [e for e in every + self._globs if self._meet(pattern, e[1])]
            found |= {number for number, _, held in close if not compatible(mode, held)}
        return sorted(found)

    def _key(self, text: str) -> str:
        if text.isascii():
            return text.lower()
        pattern = self._pattern(text)
        return pattern.key if pattern is not None else text

    def _meet(self, one: str, other: str) -> bool:
        if one == other:
            return True
        if one.isascii() and other.isascii():
            first, second = area(one), area(other)
            apart = not (
                first.folder.startswith(second.folder) or second.folder.startswith(first.folder)
            )
            if apart and not (first.named and second.named):
                return False
        a, b = self._pattern(one), self._pattern(other)
        return a is not None and b is not None and overlap(a, b) is not None

    def _pattern(self, text: str) -> Pattern | None:
        if text not in self._read:
            try:
                self._read[text] = parse(text)
            except BadInput:  # a row that somebody wrote by hand: it meets nothing but itself
                self._read[text] = None
        return self._read[text]
