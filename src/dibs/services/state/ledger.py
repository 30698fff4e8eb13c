"""The ledger, by agent, kind, and time; its size is limited, with older entries in monthly files."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice, takewhile

from dibs.core.claims.probes import is_probe_entry
from dibs.errors import Unavailable
from dibs.local.files import regular
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import BinaryIO, TypeVar

    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.log_filters import ContentFilter
    from dibs.engines.base import Txn
    from dibs.services.state.store import Store

    T = TypeVar("T")
    #: Returns the entries after a number, in order.
    EntriesAfter = Callable[[int], Iterator[Entry]]

#: How many entries one transaction trims, and for how many seconds a command goes on with that.
TRIM_BATCH, TRIM_TIME = 2_000, 0.1
#: How much of a monthly file is read to find its last entry.
TAIL = 1 << 20


class Query(Record):
    """Selects entries; an empty field matches everything except entries of ``dibs doctor --prove``."""

    agents: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    #: The earliest time, on the engine's clock.
    since: float = 0.0
    after: int = 0
    content: ContentFilter | None = None

    def wants(self, entry: Entry) -> bool:
        """Return whether ``entry`` matches."""
        return (
            (entry.agent in self.agents if self.agents else not is_probe_entry(entry))
            and (not self.kinds or entry.kind in self.kinds)
            and entry.at >= self.since
            and (self.content is None or self.content.wants(entry))
        )


class Summary(Record):
    """Counts over the entries in the ledger."""

    entries: int
    first_seq: int
    last_seq: int
    by_kind: dict[str, int]
    by_agent: dict[str, int]


class LedgerPage(Record):
    """Some entries in order, and how far the ledger reaches."""

    entries: list[Entry]
    #: The numbers of the oldest and the newest entry; 0 if there is none.
    first: int
    last: int


class Ledger:
    """Reads the ledger, and limits its size."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self) -> float:
        """Return the current time on the engine's clock."""
        return self._store.engine.view(lambda txn: txn.now)

    def read(self, step: Callable[[EntriesAfter], T]) -> T:
        """Run a step that reads entries more than once; it sees one state of the ledger."""
        return self._store.engine.view(lambda txn: step(txn.events))

    def newest(self, query: Query, limit: int) -> list[Entry]:
        """Return the newest ``limit`` matching entries, oldest first."""

        def step(txn: Txn) -> list[Entry]:
            chosen: list[Entry] = []
            matching = txn.events(
                query.after, newest_first=True, agents=query.agents, kinds=query.kinds
            )
            for entry in matching:
                if len(chosen) >= limit or entry.at < query.since:
                    break
                if query.wants(entry):
                    chosen.append(entry)
            return chosen[::-1]

        return self._store.engine.view(step)

    def select(
        self, query: Query, limit: int, *, before: int = 0, oldest_first: bool = False
    ) -> list[Entry]:
        """Return ``limit`` matching entries: the newest, the newest below ``before``, or the oldest."""

        def step(txn: Txn) -> list[Entry]:
            if before:
                return _below(txn, query, before, limit)
            chosen: list[Entry] = []
            found = txn.events(
                query.after, newest_first=not oldest_first, agents=query.agents, kinds=query.kinds
            )
            for entry in found:
                if len(chosen) >= limit or (not oldest_first and entry.at < query.since):
                    break
                if query.wants(entry):
                    chosen.append(entry)
            return chosen

        return self._store.engine.view(step)

    def numbers(self, query: Query, most: int) -> tuple[list[int], int, int]:
        """Return the numbers of the newest ``most`` matching entries, how many, and the ledger's last number.

        The numbers are ranges, newest first: the last and the first number of each.
        """

        def step(txn: Txn) -> tuple[list[int], int, int]:
            ranges: list[int] = []
            count = 0
            newest = next(txn.events(newest_first=True), None)
            found = txn.events(
                query.after, newest_first=True, agents=query.agents, kinds=query.kinds
            )
            for entry in found:
                if count >= most or entry.at < query.since:
                    break
                if not query.wants(entry):
                    continue
                count += 1
                if ranges and ranges[-1] == entry.seq + 1:
                    ranges[-1] = entry.seq
                else:
                    ranges += (entry.seq, entry.seq)
            return ranges, count, 0 if newest is None else newest.seq

        return self._store.engine.view(step)

    def at(self, numbers: Iterable[int]) -> list[Entry]:
        """Return the entries with these numbers that the ledger still has, oldest first."""
        wanted = sorted(set(numbers))

        def step(txn: Txn) -> list[Entry]:
            chosen: list[Entry] = []
            for place, number in enumerate(wanted):
                if not place or wanted[place - 1] != number - 1:
                    found = txn.events(number - 1)
                    entry = next(found, None)
                if entry is not None and entry.seq == number:
                    chosen.append(entry)
                    entry = next(found, None)
            return chosen

        return self._store.engine.view(step)

    def follow(self, query: Query, *, poll: float = 1.0) -> Iterator[list[Entry]]:
        """Yield entries after ``query.after``, forever; an empty list if nothing is new."""
        after = query.after
        while True:
            self._store.engine.wait(after, poll)
            mark = after
            entries = self._store.engine.view(lambda txn: list(txn.events(mark)))  # noqa: B023
            if entries:
                after = entries[-1].seq
            yield [entry for entry in entries if query.wants(entry)]

    def summary(self) -> Summary:
        """Count the entries in the ledger by kind and by agent."""

        def step(txn: Txn) -> Summary:
            kinds: dict[str, int] = {}
            agents: dict[str, int] = {}
            first = last = count = 0
            for entry in txn.events():
                if is_probe_entry(entry):
                    continue
                first = first or entry.seq
                last = entry.seq
                count += 1
                kinds[entry.kind] = kinds.get(entry.kind, 0) + 1
                agents[entry.agent] = agents.get(entry.agent, 0) + 1
            return Summary(count, first, last, kinds, agents)

        return self._store.engine.view(step)

    def recent(self, count: int, kinds: Collection[str] = ()) -> list[Entry]:
        """Return the newest ``count`` entries and all entries of some kinds, oldest first."""

        def step(txn: Txn) -> list[Entry]:
            found = list(islice(txn.events(newest_first=True), count))[::-1]
            first = found[0].seq if found else 0
            older = txn.events(kinds=kinds) if kinds else iter(())
            return [*(entry for entry in older if entry.seq < first), *found]

        return self._store.engine.view(step)

    def after(self, seq: int) -> tuple[list[Entry], bool]:
        """Return the entries after ``seq``, and whether none of them was already archived."""

        def step(txn: Txn) -> tuple[list[Entry], bool]:
            oldest = next(txn.events(), None)
            return list(txn.events(seq)), oldest is None or oldest.seq <= seq + 1

        return self._store.engine.view(step)

    def page(self, after: int, limit: int) -> LedgerPage:
        """Return at most ``limit`` entries after a number, oldest first."""

        def step(txn: Txn) -> LedgerPage:
            oldest = next(txn.events(), None)
            newest = next(txn.events(newest_first=True), None)
            if oldest is None or newest is None:
                return LedgerPage([], 0, 0)
            return LedgerPage(list(islice(txn.events(after), limit)), oldest.seq, newest.seq)

        return self._store.engine.view(step)

    def waiting(
        self, after: int, kinds: Collection[str], most: int
    ) -> tuple[list[Entry], int, int]:
        """Return the newest entries of some kinds after a number, how many more, and the last number.

        Entries that have left the store are read from the monthly files, so that a reader misses none after
        a long pause.
        """

        def step(txn: Txn) -> tuple[deque[Entry], int, int, bool]:
            newest = next(txn.events(newest_first=True), None)
            if newest is None or newest.seq <= after:
                return deque(), 0, after, True
            oldest = next(txn.events(), newest)
            kept, count = _newest(txn.events(after, kinds=kinds), most)
            return kept, count, newest.seq, oldest.seq <= after + 1

        kept, count, last, complete = self._store.engine.view(step)
        if not complete:
            passed = (e for e in self.history() if e.seq > after and e.kind in kinds)
            kept, count = _newest(passed, most)
        return list(kept), count - len(kept), last

    def history(self) -> Iterator[Entry]:
        """Yield all entries that this machine knows, oldest first, including the monthly files."""
        current = self._store.engine.view(lambda txn: list(txn.events()))
        last = 0
        # Entries that are archived after this read are in both places; their numbers reveal it.
        for entry in _archived(self._store.archive):
            if last < entry.seq and (not current or entry.seq < current[0].seq):
                last = entry.seq
                yield entry
        yield from current

    def trim(self, patience: float = TRIM_TIME) -> int:
        """Trim the ledger towards its limit, after archiving older entries in the monthly files.

        Each transaction drops few entries, so that no one waits for it, and no batch starts after
        ``patience`` seconds; the next command continues.
        """
        import time

        keep = self._store.config.ledger_limit - self._store.trim_every
        until = time.monotonic() + patience
        total = 0
        while old := self._store.engine.view(lambda txn: _beyond(txn, keep)):
            if self._store.archive:
                _archive(self._store.archive, old)
            upto = old[-1].seq
            dropped = self._store.engine.transact(lambda txn, upto=upto: _trim(txn, upto))  # type: ignore[misc]
            total += dropped
            if not dropped or time.monotonic() >= until:
                break
        return total


def _below(txn: Txn, query: Query, before: int, limit: int) -> list[Entry]:
    """Return the newest matching entries below a number, newest first.

    It reads forward from a little earlier, and from earlier still if too few of those match: entries have
    few gaps in their numbers, so a page far back takes no longer than the first one.
    """
    reach = limit + 50
    while True:
        low = max(query.after, before - 1 - reach)
        found = txn.events(low, agents=query.agents, kinds=query.kinds)
        chosen = deque(filter(query.wants, takewhile(lambda e: e.seq < before, found)), limit)
        if len(chosen) == limit or low == query.after:
            return list(chosen)[::-1]
        reach *= 4


def _newest(entries: Iterable[Entry], most: int) -> tuple[deque[Entry], int]:
    kept: deque[Entry] = deque(maxlen=most)
    count = 0
    for entry in entries:
        kept.append(entry)
        count += 1
    return kept, count


def _trim(txn: Txn, upto: int) -> int:
    return txn.trim(upto)


def _beyond(txn: Txn, keep: int) -> list[Entry]:
    """Return the oldest entries, oldest first: at most one batch, and none of the newest ``keep``."""
    newest = next(txn.events(newest_first=True), None)
    if newest is None:
        return []
    last = newest.seq - keep
    kept = next(txn.events(max(last, 0)), newest)
    if last > 0 and kept.seq != last + 1:
        # Numbers jump at a new life: count entries, which takes longer.
        below = next(islice(txn.events(newest_first=True), keep, None), None)
        last = below.seq if below is not None else 0
    if last <= 0:
        return []
    return [entry for entry in islice(txn.events(), TRIM_BATCH) if entry.seq <= last]


def _archive(folder: str, entries: list[Entry]) -> None:
    """Append ``entries`` to the files of their months, and sync them to disk.

    After a crash before the ledger is trimmed, they are in both places; the next run skips
    duplicates.
    """
    import time

    from dibs.local.locks import FileLock

    os.makedirs(folder, mode=0o700, exist_ok=True)
    months: dict[str, list[Entry]] = {}
    for entry in entries:
        months.setdefault(time.strftime("%Y-%m", time.gmtime(entry.at)), []).append(entry)
    with FileLock(os.path.join(folder, "lock")):
        for month, group in months.items():
            _append(os.path.join(folder, f"{month}.jsonl"), group)


def archived_since(folder: str, since: float) -> Iterator[Entry]:
    """Yield the entries of the monthly files in order, from the month of a time on; each number once."""
    import time

    month = time.strftime("%Y-%m", time.gmtime(max(0.0, since)))
    last = 0
    for entry in _archived(folder, month):
        if entry.seq > last:
            last = entry.seq
            if entry.at >= since:
                yield entry


def _archived(folder: str, month: str = "") -> Iterator[Entry]:
    """Yield the entries of the monthly files in order, from a month on; skip incomplete lines."""
    from dibs.core.claims.ledger import Entry

    try:
        names = sorted(name for name in os.listdir(folder or ".") if name.endswith(".jsonl"))
    except FileNotFoundError:
        return
    for name in names if folder else ():
        if name < month:
            continue
        with open(os.path.join(folder, name), "rb", opener=regular) as file:
            for line in file:
                try:
                    yield Entry(**decode(line.decode("utf-8", "surrogateescape").strip()))
                except (Unavailable, TypeError):
                    continue


def _append(path: str, entries: list[Entry]) -> None:
    """Append entries that the file does not have yet, on new lines even after an incomplete one."""
    handle = regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with open(handle, "r+b") as file:
        tail = _tail(file)
        done = _last_seq(tail)
        lines = [encode(entry._asdict()) for entry in entries if entry.seq > done]
        start = "\n" if tail and not tail.endswith(b"\n") else ""
        if lines:
            text = start + "\n".join(lines) + "\n"
            file.write(text.encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(handle)


def _tail(file: BinaryIO) -> bytes:
    """Return the end of a file: enough for several entries, whose size is limited."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read()


def _last_seq(tail: bytes) -> int:
    """Return the number of the last complete entry, or 0."""
    for line in reversed(tail.split(b"\n")):
        try:
            return int(decode(line.decode("utf-8", "surrogateescape"))["seq"])
        except (Unavailable, KeyError, TypeError):
            continue
    return 0
