"""State in memory, for tests and simulation."""

from __future__ import annotations

import json
import time
from bisect import bisect_left, bisect_right, insort

from dibs.core.claims.ledger import Entry
from dibs.core.text.findings import Finding, Level
from dibs.engines.shared.writes import Pending, RefusesWrites, filter_entries, not_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from threading import Condition
    from typing import TypeVar

    from dibs.core.claims.ledger import Event
    from dibs.engines.base import Txn

    T = TypeVar("T")


class _State:
    """The state that all handles on one store share."""

    __slots__ = ("changed", "clock", "keys", "latest", "ledger", "newest", "values")

    def __init__(self, clock: Callable[[], float], changed: Condition) -> None:
        self.clock = clock
        self.changed = changed
        self.values: dict[str, str] = {}
        self.keys: list[str] = []
        self.ledger: list[Entry] = []
        self.newest = 0
        self.latest = float("-inf")

    def now(self) -> float:
        self.latest = max(self.latest, self.clock())
        return self.latest


class MemoryEngine:
    """Stores state in memory; ``connect`` returns further handles on the same state."""

    as_of: float | None = None
    shortest_ttl = 0.0

    def __init__(
        self, clock: Callable[[], float] = time.time, *, _state: _State | None = None
    ) -> None:
        import threading

        self._state = _state or _State(clock, threading.Condition(threading.Lock()))

    def connect(self) -> MemoryEngine:
        """Return another handle on the same state."""
        return MemoryEngine(_state=self._state)

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically; if it raises, nothing is written."""
        state = self._state
        with state.changed:
            txn = _MemoryTxn(state)
            answer = step(txn)
            txn.apply()
            state.changed.notify_all()
        return answer

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` while no one writes; raise an error if it writes."""
        with self._state.changed:
            return step(_MemoryView(self._state))

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after``; return the newest number."""
        state = self._state
        with state.changed:
            state.changed.wait_for(lambda: state.newest > after, timeout)
            return state.newest

    def close(self) -> None:
        """Do nothing: the state is freed with its last handle."""

    def inspect(self) -> list[Finding]:
        """Report what this store guarantees."""
        lasts = "state is lost when this process exits, and no other process sees it"
        return [Finding(Level.WARN, "durability", lasts)]


class _MemoryTxn:
    """A step's changes, held back until the step succeeds."""

    __slots__ = ("_dropped", "_events", "_newest", "_pending", "_state", "now")

    def __init__(self, state: _State) -> None:
        self._state = state
        self._pending = Pending()
        self._events: list[Entry] = []
        self._dropped = 0
        self._newest = state.newest
        self.now = state.now()

    def get(self, key: str) -> str | None:
        if key in self._pending:
            return self._pending[key]
        return self._state.values.get(key)

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        for prefix, containing in ranges:
            for key in self._keys(prefix):
                value = self.get(key)
                if value is not None and containing in key:
                    yield key, value

    def _keys(self, prefix: str) -> Iterator[str]:
        stored = self._state.keys
        extra = [key for key in self._pending.under(prefix) if key not in self._state.values]
        at = bisect_left(stored, prefix)
        while at < len(stored) and stored[at].startswith(prefix):
            while extra and extra[0] < stored[at]:
                yield extra.pop(0)
            yield stored[at]
            at += 1
        yield from extra

    def put(self, key: str, value: str) -> None:
        self._pending[key] = value

    def delete(self, key: str) -> None:
        self._pending[key] = None

    def emit(self, event: Event) -> int:
        details = json.loads(json.dumps(event.details))  # as every other engine returns them
        self._newest += 1
        self._events.append(Entry(self._newest, self.now, *event[:4], details))
        return self._newest

    def events(
        self,
        after: int = 0,
        *,
        newest_first: bool = False,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> Iterator[Entry]:
        entries = self._state.ledger[self._dropped :] + self._events
        entries = entries[bisect_right(entries, after, key=_number) :]
        return filter_entries(entries[::-1] if newest_first else entries, agents, kinds)

    def restore(self, entry: Entry) -> None:
        if entry.seq <= self._newest:
            raise not_above(entry.seq, self._newest)
        details = json.loads(json.dumps(entry.details))
        self._newest = entry.seq
        self._events.append(entry._replace(details=details))

    def trim(self, upto: int) -> int:
        entries = self._state.ledger[self._dropped :] + self._events
        going = min(bisect_right(entries, upto, key=_number), max(len(entries) - 1, 0))
        from_store = min(going, len(self._state.ledger) - self._dropped)
        self._dropped += from_store
        del self._events[: going - from_store]
        return going

    def apply(self) -> None:
        state = self._state
        for key, value in self._pending.items():
            if value is not None:
                if key not in state.values:
                    insort(state.keys, key)
                state.values[key] = value
            elif state.values.pop(key, None) is not None:
                del state.keys[bisect_left(state.keys, key)]
        del state.ledger[: self._dropped]
        state.ledger += self._events
        state.newest = self._newest


class _MemoryView(RefusesWrites, _MemoryTxn):
    """A step's view that refuses writes."""

    __slots__ = ()


def _number(entry: Entry) -> int:
    return entry.seq
