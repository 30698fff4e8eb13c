"""Which events a client wants: by name, agent, and path; and from where it can resume.

Pure. There are no regular expressions and no globs: a filter is compared with every event for every client.
"""

from __future__ import annotations

from dibs.core.claims.event_names import event_name, is_event
from dibs.core.claims.ledger import Kind
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.core.claims.ledger import Entry

#: How many names, agents, and paths one filter may have, and how long each may be.
MOST_VALUES, LONGEST_VALUE = 64, 4096
#: Why a client cannot resume, and why a running stream starts again.
TOO_OLD, FUTURE, INVALID = "too_old", "future", "invalid"
SLOW, RESTARTED = "slow", "restarted"
#: The keys of an entry's details that name paths.
_PATHS = ("paths", "path", "patterns", "pattern", "files")
_WILD = "*?[{"


class EventFilter(Record):
    """The events of interest; an empty field accepts every event."""

    #: Names such as ``lock:acquired``, and beginnings of names such as ``lock``.
    types: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    #: Files and folders, without a slash at the end.
    paths: tuple[str, ...] = ()

    def wants(self, entry: Entry) -> bool:
        """Return whether the event of ``entry`` matches."""
        if self.types:
            name = event_name(entry.kind)
            if name not in self.types and name.partition(":")[0] not in self.types:
                return False
        if self.agents and entry.agent not in self.agents:
            return False
        return not self.paths or is_about(entry, self.paths)


def event_filter(
    types: Sequence[str] = (), agents: Sequence[str] = (), paths: Sequence[str] = ()
) -> EventFilter:
    """Return the filter for values that a client sent; raise ``BadInput`` that names the field."""
    for field, values in (("types", types), ("agents", agents), ("paths", paths)):
        if len(values) > MOST_VALUES:
            raise BadInput(f"more than {MOST_VALUES} {field}", code="LIMIT", field=field)
        if any(len(value) > LONGEST_VALUE for value in values):
            raise BadInput(f"one of the {field} is too long", code="LIMIT", field=field)
    for name in types:
        if not is_event(name):
            meant = closest(name, [event_name(kind) for kind in Kind])
            hint = f"did you mean {quote(meant)}?" if meant else "see docs/reference/events.md"
            raise BadInput(f"no event {quote(name[:80])}", code="KIND", field="types", hint=hint)
    return EventFilter(frozenset(types), frozenset(agents), places(paths))


def places(paths: Iterable[str]) -> tuple[str, ...]:
    """Return files and folders as filters compare them; the root does not limit anything."""
    found = (path.strip("/").removeprefix("./") for path in paths)
    return tuple(sorted(set(found) - {"", "."}))


def is_about(entry: Entry, wanted: Sequence[str]) -> bool:
    """Return whether an entry names one of the paths, something below one, or a folder or glob around one."""
    return any(_meet(place, found) for found in paths_of(entry) for place in wanted)


def cannot_resume(after: int, first: int, last: int) -> str:
    """Return why a client cannot continue after a number; empty if it can.

    ``first`` and ``last`` are the numbers of the oldest and the newest entry in the ledger, or 0.
    """
    if after < 0:
        return INVALID
    if after > last:
        return FUTURE
    return TOO_OLD if first > after + 1 else ""


def paths_of(entry: Entry) -> Iterator[str]:
    """Yield the paths and patterns that an entry names."""
    for key in _PATHS:
        found = entry.details.get(key)
        for value in found if isinstance(found, (list, tuple)) else (found,):
            if isinstance(value, str):
                yield value


def _meet(wanted: str, found: str) -> bool:
    """Return whether a path is at or below a wanted one, or a folder or glob may contain it."""
    if found == wanted or found.startswith(wanted + "/"):
        return True
    wild = min((found.index(sign) for sign in _WILD if sign in found), default=-1)
    if wild >= 0:
        start = found[:wild]
        return wanted.startswith(start) or start.startswith(wanted + "/")
    return wanted.startswith(found.rstrip("/") + "/")
