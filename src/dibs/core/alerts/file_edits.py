"""Find files that several agents changed without a commit or a release in between, from ledger entries."""

from __future__ import annotations

from unicodedata import normalize

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_entry
from dibs.core.patterns.casefold import fold
from dibs.core.patterns.overlap import matches
from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.core.claims.ledger import Entry
    from dibs.core.patterns.pattern import Pattern

_LOST = frozenset({Kind.LOCK_RELEASED, Kind.LOCK_EXPIRED, Kind.LOCK_REVOKED, Kind.LOCK_TRANSFERRED})
_ENDED = frozenset({Kind.AGENT_EXITED, Kind.AGENT_TERMINATED})
#: The kinds of entries that matter here.
RELEVANT = (Kind.FILE_EDIT, Kind.FOREIGN_WRITE, Kind.COMMITTED, *sorted(_LOST), *sorted(_ENDED))


class _Authors:
    """Who changed which files; it finds the files of an author, and one of them by name, at once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, None]] = {}
        #: For each author the spellings of each file, by a key that is the same for all spellings.
        self._mine: dict[str, dict[str, dict[str, None]]] = {}

    def add(self, path: str, author: str) -> None:
        """Note that an author changed a file."""
        self._files.setdefault(path, {})[author] = None
        self._mine.setdefault(author, {}).setdefault(_key(path), {})[path] = None

    def drop(self, path: str, author: str) -> None:
        """Note that an author is done with a file."""
        self._files.get(path, {}).pop(author, None)
        self._mine.get(author, {}).get(_key(path), {}).pop(path, None)

    def end(self, author: str) -> None:
        """Note that an author is done with everything."""
        for paths in self._mine.pop(author, {}).values():
            for path in paths:
                self._files[path].pop(author, None)

    def of(self, author: str, pattern: Pattern) -> list[str]:
        """Return the files of an author that a pattern matches."""
        mine = self._mine.get(author)
        if not mine or pattern.scheme:
            return []
        near = [mine.get(_key(pattern.path), {})] if pattern.literal else mine.values()
        return [path for paths in near for path in paths if matches(pattern, f"./{path}")]

    def several(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each path with several authors, and these."""
        for path, known in sorted(self._files.items()):
            if len(known) > 1:
                yield path, tuple(known)


def _key(path: str) -> str:
    return fold(path if path.isascii() else normalize("NFC", path), full=True).removeprefix("./")


def duplicates(
    entries: Iterable[Entry], parse: Callable[[str], Pattern]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each path with several authors, and these; ``entries`` are in chronological order.

    An author is done with a path that it committed, or whose claim it gave up, and when it ends.
    """
    authors = _Authors()
    for entry in entries:
        if is_probe_entry(entry):
            continue
        if entry.kind in {Kind.FILE_EDIT, Kind.FOREIGN_WRITE}:
            _edited(authors, entry)
        elif entry.kind == Kind.COMMITTED:
            for path in _texts(entry, "paths"):
                authors.drop(path, entry.agent)
        elif entry.kind in _ENDED:
            authors.end(str(entry.details.get("toAgentId") or entry.agent))
        else:
            _gave_up(authors, entry, parse)
    return authors.several()


def _edited(authors: _Authors, entry: Entry) -> None:
    names = [entry.agent]
    if entry.kind == Kind.FOREIGN_WRITE:
        names.insert(0, str(entry.details.get("holder", "")))
    if entry.role == HUMAN:
        return
    for path in _texts(entry, "paths"):
        for name in filter(None, names):
            authors.add(path, name)


def _gave_up(authors: _Authors, entry: Entry, parse: Callable[[str], Pattern]) -> None:
    owner = str(entry.details.get("holder") or entry.agent)
    for text in [*_texts(entry, "patterns"), *_texts(entry, "pattern")]:
        try:
            pattern = parse(text)
        except DibsError:
            continue
        for path in authors.of(owner, pattern):
            authors.drop(path, owner)


def _texts(entry: Entry, key: str) -> list[str]:
    value = entry.details.get(key, ())
    found = value if isinstance(value, list | tuple) else [value]
    return [str(one) for one in found]
