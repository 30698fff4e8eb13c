"""A step's view of a store through a replica: known rows, guesses for unknown ones, and its own writes."""

from __future__ import annotations

from dibs.core.claims.ledger import Entry, decode_details, encode_details
from dibs.engines.shared.writes import Pending, RefusesWrites, filter_entries, not_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from dibs.core.claims.ledger import Event
    from dibs.engines.shared.replica import KnownRange, Replica

    Read = Callable[[int, int, bool, Collection[str], Collection[str]], Iterator[Entry]]


class ReplicaTxn:
    """One step's view of the state. It sees its own writes.

    Anything the handle does not know is assumed to be empty, and recorded as a guess: the engine
    verifies it with the server before the result counts.
    """

    __slots__ = (
        "_last", "_newest", "_read", "_replica", "dropped_below", "entries_out", "guessed_points",
        "guessed_ranges", "now", "pending",
    )  # fmt: skip

    def __init__(self, replica: Replica, now: float, newest: tuple[int, int], read: Read) -> None:
        self._replica = replica
        self._read = read
        self.now = now
        #: The newest number in the ledger, and the number from which the next one counts.
        self._last, base = newest
        #: The entries to append: seven values each, the number first.
        self.entries_out: list[tuple[Any, ...]] = []
        self.pending = Pending()
        self.guessed_points: dict[str, None] = {}
        self.guessed_ranges: dict[tuple[str, str], None] = {}
        self.dropped_below = 0
        self._newest = max(self._last, base)

    @property
    def writes(self) -> bool:
        """Whether the step changes anything."""
        return bool(self.pending or self.entries_out or self.dropped_below)

    @property
    def guesses(self) -> bool:
        """Whether the step read something that the handle did not know."""
        return bool(self.guessed_points or self.guessed_ranges)

    def get(self, key: str) -> str | None:
        """Return the value of ``key``."""
        if key in self.pending:
            return self.pending[key]
        try:
            return self._replica.points[key]
        except KeyError:
            self.guessed_points[key] = None
            return None

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the keys and values of each range in turn, in key order."""
        known = self._replica.ranges
        found: list[tuple[str, str]] = []
        for prefix, containing in ranges:
            rows = known.get((prefix, containing))
            if rows is None:
                self.guessed_ranges[prefix, containing] = None
            if self.pending:
                found += self._merged(prefix, containing, rows)
            elif rows is not None and rows.keys:
                found += [(key, rows.values[key]) for key in rows.keys]
        return iter(found)

    def put(self, key: str, value: str) -> None:
        """Set ``key`` to ``value``."""
        self.pending[key] = value

    def delete(self, key: str) -> None:
        """Remove ``key``, if it exists."""
        self.pending[key] = None

    def emit(self, event: Event) -> int:
        """Append ``event`` to the ledger and return its sequence number."""
        self._last = self._newest = number = self._newest + 1
        agent, role, kind, summary, details = event
        text = encode_details(details) if details else "{}"
        self.entries_out.append((number, repr(self.now), agent, role, str(kind), summary, text))
        return number

    def events(
        self,
        after: int = 0,
        *,
        newest_first: bool = False,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> Iterator[Entry]:
        """Yield the ledger entries with a sequence number above ``after``."""
        after = max(after, self.dropped_below - 1)
        own = [stored_entry(*words) for words in self.entries_out if words[0] > after]
        upto = self.entries_out[0][0] - 1 if self.entries_out else self._newest
        stored = self._read(after, upto, newest_first, agents, kinds)
        found = _chain(reversed(own), stored) if newest_first else _chain(stored, own)
        return filter_entries(found, agents, kinds)

    def restore(self, entry: Entry) -> None:
        """Append an entry of another store with its number and time."""
        if entry.seq <= self._last:
            raise not_above(entry.seq, self._last)
        number, at, agent, role, kind, summary, details = entry
        self._last = number
        self._newest = max(self._newest, number)  # a life may start at a much higher number
        self.entries_out.append(
            (number, repr(at), agent, role, kind, summary, encode_details(details))
        )

    def trim(self, upto: int) -> int:
        """Drop the entries up to ``upto``, but never the newest; return how many were dropped."""
        newest = next((entry.seq for entry in self.events(newest_first=True)), 0)
        bound = min(upto, newest - 1)
        going = 0
        for entry in self.events():
            if entry.seq > bound:
                break
            going += 1
        if going:
            self.dropped_below = bound + 1
            self.entries_out = [words for words in self.entries_out if words[0] > bound]
        return going

    def _merged(
        self, prefix: str, containing: str, rows: KnownRange | None
    ) -> list[tuple[str, str]]:
        merged: dict[str, str | None] = dict(rows.values) if rows is not None else {}
        merged.update((k, self.pending[k]) for k in self.pending.under(prefix, containing))
        return [(key, value) for key in sorted(merged) if (value := merged[key]) is not None]


class ReplicaView(RefusesWrites, ReplicaTxn):
    """A step's view that refuses writes."""

    __slots__ = ()


def stored_entry(number: int, at: str, *words: str) -> Entry:
    """Build an entry from its values; damaged details are shown as they are."""
    agent, role, kind, summary, text = words
    return Entry(number, float(at), agent, role, kind, summary, decode_details(text))


def _chain(first: Any, then: Any) -> Iterator[Entry]:
    yield from first
    yield from then
