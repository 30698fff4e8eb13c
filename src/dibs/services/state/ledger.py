"""The ledger, by agent, kind, and time; its size is limited, with older entries in monthly files."""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.claims.probes import is_probe_entry
from dibs.errors import Unavailable
from dibs.services.state.keys import CLOSED
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import BinaryIO

    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Txn
    from dibs.services.state.store import Store

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

    def wants(self, entry: Entry) -> bool:
        """Return whether ``entry`` matches."""
        return (
            (entry.agent in self.agents if self.agents else not is_probe_entry(entry))
            and (not self.kinds or entry.kind in self.kinds)
            and entry.at >= self.since
        )


class Summary(Record):
    """Counts over the entries in the ledger."""

    entries: int
    first_seq: int
    last_seq: int
    by_kind: dict[str, int]
    by_agent: dict[str, int]


class Ledger:
    """Reads the ledger, and limits its size."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self) -> float:
        """Return the current time on the engine's clock."""
        return self._store.engine.view(lambda txn: txn.now)

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


def _trim(txn: Txn, upto: int) -> int:
    return txn.trim(upto) if txn.get(CLOSED) is None else 0


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


def _archived(folder: str) -> Iterator[Entry]:
    """Yield the entries of the monthly files in order; skip incomplete lines."""
    from dibs.core.claims.ledger import Entry

    try:
        names = sorted(name for name in os.listdir(folder or ".") if name.endswith(".jsonl"))
    except FileNotFoundError:
        return
    for name in names if folder else ():
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                try:
                    yield Entry(**decode(line.decode("utf-8", "surrogateescape").strip()))
                except (Unavailable, TypeError):
                    continue


def _append(path: str, entries: list[Entry]) -> None:
    """Append entries that the file does not have yet, on new lines even after an incomplete one."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
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
