"""Patterns: the paths, globs, and named resources of claims.

``spelling`` reads what a user typed, and ``overlap`` decides whether two patterns overlap; callers use
this module.
"""

from __future__ import annotations

from dibs.core.patterns.overlap import Route, Segment, compiled, matches, overlap
from dibs.core.patterns.spelling import MAX_DEPTH, MAX_NAME, join_scheme, read
from dibs.core.patterns.tokens import Row, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["Pattern", "is_everything", "matches", "overlap", "parse", "printable"]

#: A text with any of these does not take the fast path through ``parse``.
_UNPLAIN = frozenset("*?[]{}\\:@~ \x7f").union(map(chr, range(32)))


class Pattern:
    """A path, a glob, or a named resource. Immutable; equal to another with the same ``key``."""

    __slots__ = (
        *("_full", "_plain", "_rows", "expanding", "folded", "key", "literal", "scheme", "text"),
    )

    def __init__(
        self, text: str, key: str, *, folded: bool, scheme: str = "", rows: tuple[Row, ...] = ()
    ) -> None:
        #: The canonical spelling, for display and storage. Parsing it gives an equal pattern.
        self.text: Final = text
        #: The same for all spellings of one pattern, and valid UTF-8.
        self.key: Final = key
        #: Whether names are compared case-insensitively.
        self.folded: Final = folded
        #: The scheme of a named resource, or "@"; empty for a path.
        self.scheme: Final = scheme
        self.literal: Final = not rows or _is_literal(rows)
        #: Whether it contains a letter that folds to several, such as ``ß``.
        self.expanding: Final = folded and not text.isascii() and any(map(_expands, rows))
        self._rows: Final = rows
        self._plain: tuple[Route, ...] | None = None
        self._full: tuple[Route, ...] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<Pattern {self.text}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.text, self.folded)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The brace alternatives as parts, before case folding."""
        return self._rows or (tuple(self.text.split("/")),)

    @property
    def path(self) -> str:
        """The path of a literal, as in the file system."""
        return self.spelled("/".join(map(str, self._rows[0]))) if self._rows else self.text

    def spelled(self, rest: str) -> str:
        """Return ``rest`` as a path or a resource, like this pattern."""
        return join_scheme(self.scheme, rest)

    def routes(self, *, full: bool = False) -> tuple[Route, ...]:
        """Return the compiled alternatives; ``full`` expands letters such as ``ß``."""
        routes = self._full if full else self._plain
        if routes is None:
            found = [compiled(row, folded=self.folded, full=full) for row in self.rows]
            routes = tuple([route for route in found if route is not None])
            if full:
                self._full = routes
            else:
                self._plain = routes
        return routes


def _again(text: str, folded: bool) -> Pattern:
    return parse(text, fold_case=folded)


def parse(text: str, *, literal: bool = False, fold_case: bool = True) -> Pattern:
    """Read a pattern; with ``literal``, only "/" is special.

    Raises:
        BadInput: with a code (PATH_..., GLOB_...) and a hint.
    """
    if (
        text.isascii()
        and 0 < len(text) <= MAX_NAME
        and _UNPLAIN.isdisjoint(text)
        and "//" not in text
        and "/." not in text
        and text[0] not in "/."
        and text[-1] != "/"
        and text.count("/") < MAX_DEPTH
    ):
        return Pattern(text, text.lower() if fold_case else text, folded=fold_case)
    reading = read(text, literal=literal, folded=fold_case)
    return Pattern(
        reading.text, reading.key, folded=fold_case, scheme=reading.scheme, rows=reading.rows
    )


def is_everything(pattern: Pattern) -> bool:
    """Return whether ``pattern`` matches every path, as ``**`` and ``*/**`` do."""
    if pattern.scheme:
        return False
    exact, at_least = set[int](), set[int]()
    for route in pattern.routes():
        segments = [segment for chunk in route.chunks for segment in chunk]
        if all(isinstance(segment, Segment) and _takes_any_name(segment) for segment in segments):
            (at_least if len(route.chunks) > 1 else exact).add(len(segments))
    return bool(at_least) and exact.issuperset(range(1, min(at_least)))


def _takes_any_name(segment: Segment) -> bool:
    items = [item for chunk in segment.chunks for item in chunk]
    return len(segment.chunks) > 1 and items in ([], [None])


def _is_literal(rows: tuple[Row, ...]) -> bool:
    return len(rows) == 1 and all(isinstance(part, str) for part in rows[0])


def _expands(row: Row) -> bool:
    texts = [part if isinstance(part, tuple) else (part,) for part in row]
    return any(
        isinstance(token, str) and len(token.casefold()) > len(token)
        for tokens in texts
        for token in tokens
    )
