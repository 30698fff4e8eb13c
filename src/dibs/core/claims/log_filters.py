"""How people and clients select ledger entries: by kind, content, duration, time, or number.

Pure. The ledger calls claims locks; people may use either word.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind, encode_details
from dibs.core.text.durations import parse_span
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.ledger import Entry
    from dibs.core.patterns.pattern import Pattern

_STORED, _SHOWN_AS = "lock_", "claim_"
#: Longer than the number of any entry.
_MOST_DIGITS = 18


class ContentFilter(Record):
    """Selects entries by what they say; an empty field matches everything."""

    #: The latest time, on the engine's clock; 0 for any.
    until: float = 0.0
    #: Files and folders, and globs.
    paths: tuple[str, ...] = ()
    globs: tuple[Pattern, ...] = ()
    #: Words to find, in lower case; an entry has all of them.
    words: tuple[str, ...] = ()

    def wants(self, entry: Entry) -> bool:
        """Return whether ``entry`` matches."""
        if self.until and entry.at > self.until:
            return False
        if (self.paths or self.globs) and not self._is_near(entry):
            return False
        return not self.words or self._says(entry)

    def _is_near(self, entry: Entry) -> bool:
        from dibs.core.claims.event_filters import is_about, paths_of

        return is_about(entry, self.paths) or any(
            _overlap(glob, found) for glob in self.globs for found in paths_of(entry)
        )

    def _says(self, entry: Entry) -> bool:
        text = f"{entry.agent} {shown_kind(entry.kind)} {entry.summary}".lower()
        missing = [word for word in self.words if word not in text]
        if not missing:
            return True
        details = encode_details(entry.details).lower()
        return all(word in details for word in missing)


def _overlap(glob: Pattern, found: str) -> bool:
    """Return whether some path matches both; entries may name files that are not valid patterns."""
    from dibs.core.patterns.overlap import matches, overlap
    from dibs.core.patterns.pattern import parse

    if not is_glob(found) and not found.endswith("/"):
        return matches(glob, found)
    try:
        return overlap(glob, parse(found)) is not None
    except BadInput:
        return False


def is_glob(path: str) -> bool:
    """Return whether a path has a sign that is special in patterns."""
    return any(sign in path for sign in "*?[{")


def content_filter(paths: Iterable[str], text: str, until: float) -> ContentFilter:
    """Return the filter for what a client asks for; some paths may be globs."""
    from dibs.core.claims.event_filters import places
    from dibs.core.patterns.pattern import parse

    wanted = places(paths)
    globs = tuple(parse(path) for path in wanted if is_glob(path))
    return ContentFilter(until, wanted, globs, tuple(text.lower().split()))


def shown_kind(kind: str) -> str:
    """Return a kind as screens show it."""
    return _SHOWN_AS + kind.removeprefix(_STORED) if kind.startswith(_STORED) else kind


def stored_kinds(words: Iterable[str], field: str = "kind") -> frozenset[str]:
    """Return kinds as the ledger has them."""
    stored = {**{kind: kind for kind in Kind}, **{shown_kind(kind): kind for kind in Kind}}
    found = list(words)
    for word in found:
        if word not in stored:
            meant = closest(word, list(stored))
            known = ", ".join(map(shown_kind, Kind))
            hint = f"did you mean '{meant}'?" if meant else f"kinds are {known}"
            message = f"unknown kind of entry {quote(word)}"
            raise BadInput(message, code="KIND", field=field, hint=hint)
    return frozenset(stored[word] for word in found)


def parse_since(text: str, now: float) -> tuple[int, float]:
    """Return the number after which, and the time from which, entries are wanted; one of them is 0."""
    if not text:
        return 0, 0.0
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text), 0.0
    return 0, parse_time(text, now, "since")


def parse_time(text: str, now: float, field: str) -> float:
    """Return the time that a text names: a date and time, or a duration before ``now``."""
    try:
        return now - parse_span(text)
    except BadInput:
        at = parse_date(text)
        if at is None:
            raise BadInput(
                f"{quote(text)} is not a duration, a time, or the number of an entry",
                code="SINCE",
                field=field,
                hint="for example 10m, 2026-01-31T14:00, or 120",
            ) from None
        return at


def parse_date(text: str) -> float | None:
    """Return the time of a date in ISO format, None for any other text."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
