"""Keep the replay of a ledger for the next request, which then reads only the new entries."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from dibs.core.claims.agents import NEVER
from dibs.core.claims.probes import PROBE_SESSION, is_probe_entry
from dibs.core.history.replay import Replay
from dibs.services.state.ledger import Ledger, archived_since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Engine
    from dibs.services.state.ledger import EntriesAfter
    from dibs.services.state.store import Store

#: A replay of more entries than this is not continued, so that its size stays limited.
MOST_KEPT = 200_000
#: So many entries are read even if they are earlier than necessary.
FEW = 5_000


class KeptReplay:
    """The replay of one project's ledger so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._replay = Replay()
        #: The time from which it has all entries that are known.
        self._reach = NEVER
        #: The time of the oldest entry in the store; None without one.
        self.oldest: float | None = None

    def replay(self, store: Store, last: int, since: float) -> Replay:
        """Return a replay that has every known entry from a time on, up to a number; hold the lock."""
        known = self._replay

        def step(after: EntriesAfter) -> Replay | None:
            oldest = next(after(0), None)
            self.oldest = None if oldest is None else oldest.at
            first = oldest.seq if oldest is not None else 0
            gap = not 0 < first <= known.newest + 1 or known.newest > last
            if gap or known.entries > MOST_KEPT or since < self._reach:
                return None
            # Nothing below can fail halfway: an entry is read completely before it counts.
            known.feed(_wanted(after(known.newest), last))
            return known

        return Ledger(store).read(step) or self._anew(store, last, since)

    def _anew(self, store: Store, last: int, since: float) -> Replay:
        def step(after: EntriesAfter) -> Replay:
            replay = Replay()
            oldest = next(after(0), None)
            if oldest is not None and oldest.at > since and store.archive:
                replay.feed(_wanted(archived_since(store.archive, since), oldest.seq - 1))
            begin = 0 if oldest is None else _begin(after, oldest.seq, last, since)
            replay.feed(_wanted(after(begin), last))
            return replay

        self._replay, self._reach = Ledger(store).read(step), since
        return self._replay


def _begin(after: EntriesAfter, first: int, last: int, since: float) -> int:
    """Return a number after which all entries from a time on are; everything, if that is not much."""
    low, high = first - 1, last
    while high - low > FEW:
        middle = (low + high) // 2
        entry = next(after(middle), None)
        if entry is None or entry.at >= since:
            high = middle
        else:
            low = middle
    return low


def _wanted(entries: Iterable[Entry], last: int) -> Iterator[Entry]:
    for entry in entries:
        if entry.seq > last:
            return
        if PROBE_SESSION not in entry.agent or not is_probe_entry(entry):
            yield entry


_KEPT: WeakKeyDictionary[Engine, KeptReplay] = WeakKeyDictionary()
_ADDING = threading.Lock()


@contextmanager
def kept_for(engine: Engine) -> Iterator[KeptReplay]:
    """Lock and return what is kept for an engine; the lock makes the state and the replay agree."""
    with _ADDING:
        kept = _KEPT.get(engine)
        if kept is None:
            kept = _KEPT[engine] = KeptReplay()
    with kept.lock:
        yield kept
