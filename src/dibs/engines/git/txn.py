"""A step's view of the state, and what of it becomes files."""

from __future__ import annotations

from dibs.core.claims.ledger import encode_details
from dibs.engines.git.files import CHUNK, chunk_of, render_entry
from dibs.engines.shared.pending import Pending
from dibs.engines.shared.readonly import RefusesWrites, not_above
from dibs.engines.shared.sqlite_txn import SqliteTxn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.ledger import Entry, Event
    from dibs.engines.git.cache import Cache
    from dibs.engines.git.files import Codec

_EMIT = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)"


class GitTxn(SqliteTxn):
    """One step's view of the tip. It sees its own writes."""

    __slots__ = ("_touched", "newest", "told")

    def __init__(self, cache: Cache, now: float, newest: int) -> None:
        super().__init__(cache.db, cache.run, now)
        self.newest = newest
        #: What the ledger was told, in order.
        self.told: list[Event] = []
        self._touched: set[int] = set()

    def emit(self, event: Event) -> int:
        """Append ``event`` to the ledger and return its sequence number."""
        agent, role, kind, summary, details = event
        self.newest += 1
        text = encode_details(details) if details else "{}"
        self._run(_EMIT, (self.newest, self.now, agent, role, str(kind), summary, text))
        self.told.append(event)
        self._touched.add(self.newest // CHUNK)
        return self.newest

    def restore(self, entry: Entry) -> None:
        """Append an entry of another store, with its number and moment."""
        if entry.seq <= self.newest:
            raise not_above(entry.seq, self.newest)
        *fields, details = entry
        self._run(_EMIT, (*fields, encode_details(details)))
        self.newest = entry.seq
        self._touched.add(entry.seq // CHUNK)

    def trim(self, upto: int) -> int:
        """Drop the entries up to and including ``upto``, never the newest; return how many went."""
        going = "SELECT DISTINCT seq / ? FROM ledger WHERE seq <= ?"
        chunks = [int(str(chunk)) for (chunk,) in self._run(going, (CHUNK, upto)).fetchall()]
        gone = super().trim(upto)
        if gone:
            self._touched.update(chunks)
        return gone

    def files(self, cache: Cache, codec: Codec) -> dict[str, bytes | None]:
        """Write what was held back, and return the files that changed; None for one that goes."""
        rows = self._pending.items()
        self._pending = Pending((key, value) for key, value in rows if value != self._stored(key))
        self.flush()
        changed: dict[str, bytes | None] = {}
        for path in sorted(set(self._moved(codec))):
            found = cache.rows_of(path)
            changed[path] = codec.render(path, found) if found else None
        for chunk in self._touched:
            changed[chunk_of(chunk * CHUNK)] = self._chunk(chunk)
        return changed

    def _stored(self, key: str) -> str | None:
        for (value,) in self._run("SELECT value FROM kv WHERE key = ?", (key,)):
            return str(value)
        return None

    def _moved(self, codec: Codec) -> Iterator[str]:
        """Note in which file each changed row lies now; yield all files that this touches."""
        for key, value in self._pending.items():
            for (path,) in self._run("SELECT path FROM place WHERE key = ?", (key,)).fetchall():
                yield str(path)
            if value is None:
                self._run("DELETE FROM place WHERE key = ?", (key,))
            else:
                path = codec.path_of(key)
                self._run("INSERT OR REPLACE INTO place VALUES (?, ?)", (key, path))
                yield path

    def _chunk(self, chunk: int) -> bytes | None:
        entries = "SELECT * FROM ledger WHERE seq >= ? AND seq < ? ORDER BY seq"
        rows = self._run(entries, (chunk * CHUNK, (chunk + 1) * CHUNK)).fetchall()
        return "".join(map(render_entry, rows)).encode() if rows else None


class GitView(RefusesWrites, GitTxn):
    """A step's view of a snapshot; it refuses to write."""

    __slots__ = ()
