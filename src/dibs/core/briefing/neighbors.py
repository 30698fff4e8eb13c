"""Find claims that are near each other, and claims that conflict. Pure.

Near means in the same folder, or in a tree that a glob covers. This only warns, so it compares folders alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dibs.core.claims.rules import compatible
from dibs.core.patterns.lookup import PatternIndex
from dibs.core.patterns.pattern import parse
from dibs.core.patterns.spelling import split_scheme
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.patterns.pattern import Pattern

#: What makes a pattern match more than one path: a wildcard, or a trailing slash.
_SPECIAL = re.compile(r"[*?\[\]{}\\]|/$")


class Area(Record):
    """The part of the tree that a pattern covers."""

    #: The folder with a trailing slash; empty for the root. A named resource is its own folder.
    folder: str
    #: Whether subfolders are included.
    deep: bool


@lru_cache(maxsize=4096)
def _area(pattern: str) -> Area:
    scheme, rest = split_scheme(pattern)
    rest = rest.lower()
    if scheme:
        return Area(f"{scheme}:{rest}", False)
    special = _SPECIAL.search(rest)
    if special is None:
        return Area(rest[: rest.rfind("/") + 1], False)
    if special.group() == "/":
        return Area(rest, True)
    folder = rest[: rest.rfind("/", 0, special.start()) + 1]
    tail = rest[len(folder) :]
    return Area(folder, "**" in tail or "/" in tail)


class Neighborhood:
    """The areas of an agent's claims, for comparison with others."""

    def __init__(self, patterns: Iterable[str]) -> None:
        areas = {_area(pattern) for pattern in patterns}
        self._folders = {area.folder for area in areas}
        self._deep = tuple(area.folder for area in areas if area.deep)

    def near(self, pattern: str) -> bool:
        """Return whether ``pattern`` is near one of the claims."""
        found = _area(pattern)
        covers = found.deep and any(folder.startswith(found.folder) for folder in self._folders)
        return found.folder in self._folders or covers or found.folder.startswith(self._deep)


class ConflictFinder:
    """Patterns with modes, searchable for conflicts with a request."""

    def __init__(self, filed: Iterable[tuple[int, str, str]]) -> None:
        """Index ``filed``: the number of an item, its pattern, and its mode."""
        self._filed = list(filed)
        self._index = PatternIndex()
        for place, (_, text, _) in enumerate(self._filed):
            pattern = _parsed(text)
            if pattern is not None:
                self._index.add(str(place), pattern)

    def of(self, patterns: Iterable[str], mode: str) -> list[int]:
        """Return the numbers of the items that conflict with such a claim, in order."""
        places = set()
        for text in patterns:
            pattern = _parsed(text)
            if pattern is None:
                places |= {n for n, (_, held, _) in enumerate(self._filed) if held == text}
            else:
                places |= {int(place) for place, _, _ in self._index.overlapping(pattern)}
        found = (self._filed[place] for place in places)
        return sorted({number for number, _, held in found if not compatible(mode, held)})


def _parsed(text: str) -> Pattern | None:
    """Return a pattern; None for one corrupted in the store, which matches only itself."""
    try:
        return parse(text)
    except BadInput:
        return None
