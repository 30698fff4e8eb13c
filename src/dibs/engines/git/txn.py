"""A step's view of the state, the files it changes, and their commit."""

from __future__ import annotations

import os

from dibs.core.claims.ledger import encode_details, headlines
from dibs.engines.git.files import CHUNK, chunk_of, render_entry
from dibs.engines.shared.sqlite import SqliteTxn
from dibs.engines.shared.writes import Pending, RefusesWrites, not_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.claims.ledger import Entry, Event
    from dibs.engines.git.cache import Cache
    from dibs.engines.git.files import RowFiles

NOBODY = "dibs"
#: How many more headlines the body of a message contains.
_MORE = 50
_EMIT = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)"


class GitTxn(SqliteTxn):
    """One step's view of the tip. It sees its own writes."""

    __slots__ = ("_touched", "newest", "told")

    def __init__(self, cache: Cache, now: float, newest: int) -> None:
        super().__init__(cache.db, cache.run, now)
        self.newest = newest
        #: The new ledger entries, in order.
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
        """Append an entry of another store with its number and time."""
        if entry.seq <= self.newest:
            raise not_above(entry.seq, self.newest)
        *fields, details = entry
        self._run(_EMIT, (*fields, encode_details(details)))
        self.newest = entry.seq
        self._touched.add(entry.seq // CHUNK)

    def trim(self, upto: int) -> int:
        """Drop the entries up to ``upto``, but never the newest; return how many were dropped."""
        going = "SELECT DISTINCT seq / ? FROM ledger WHERE seq <= ?"
        chunks = [int(str(chunk)) for (chunk,) in self._run(going, (CHUNK, upto)).fetchall()]
        gone = super().trim(upto)
        if gone:
            self._touched.update(chunks)
        return gone

    def files(self, cache: Cache, layout: RowFiles) -> dict[str, bytes | None]:
        """Write what was held back, and return the changed files; None for a removed one."""
        rows = self._pending.items()
        self._pending = Pending((key, value) for key, value in rows if value != self._stored(key))
        self.flush()
        changed: dict[str, bytes | None] = {}
        for path in sorted(set(self._moved(layout))):
            found = cache.rows_of(path)
            changed[path] = layout.render(path, found) if found else None
        for chunk in self._touched:
            changed[chunk_of(chunk * CHUNK)] = self._chunk(chunk)
        return changed

    def _stored(self, key: str) -> str | None:
        for (value,) in self._run("SELECT value FROM kv WHERE key = ?", (key,)):
            return str(value)
        return None

    def _moved(self, layout: RowFiles) -> Iterator[str]:
        """Record which file contains each changed row; yield all files that this affects."""
        for key, value in self._pending.items():
            for (path,) in self._run("SELECT path FROM place WHERE key = ?", (key,)).fetchall():
                yield str(path)
            if value is None:
                self._run("DELETE FROM place WHERE key = ?", (key,))
            else:
                path = layout.path_of(key)
                self._run("INSERT OR REPLACE INTO place VALUES (?, ?)", (key, path))
                yield path

    def _chunk(self, chunk: int) -> bytes | None:
        entries = "SELECT * FROM ledger WHERE seq >= ? AND seq < ? ORDER BY seq"
        rows = self._run(entries, (chunk * CHUNK, (chunk + 1) * CHUNK)).fetchall()
        return "".join(map(render_entry, rows)).encode() if rows else None


class GitView(RefusesWrites, GitTxn):
    """A step's view of a snapshot; it refuses writes."""

    __slots__ = ()


def render_commit(tree: str, parent: str, told: Sequence[Event], wall: float) -> bytes:
    """Return a commit object.

    If two rivals wrote the same change to the same state, they would create the same commit: the
    second push would find it there already, and both would believe they won. So each commit has a
    nonce.
    """
    name = _name(told[0].agent) if told else NOBODY
    signed = f"{name} <{name.replace(' ', '.')}@dibs.invalid> {int(wall)} +0000"
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    lines += [f"author {signed}", f"committer {signed}", "", message(told, os.urandom(12).hex())]
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def message(told: Sequence[Event], nonce: str) -> str:
    """Return the message: headlines, which cannot be mistaken for trailers, and then our own trailer."""
    first, *rest = headlines(told) or ["update the state"]
    parts = [first]
    if rest:
        # An indented line is never a trailer.
        more = [f"  {line}" for line in rest[:_MORE]]
        parts.append("\n".join(more))
    parts.append(f"Dibs-Nonce: {nonce}")
    return "\n\n".join(parts) + "\n"


def _name(agent: str) -> str:
    """Return an agent's id as a valid git name: no angle brackets, no control characters."""
    kept = "".join(char if char.isprintable() and char not in "<>" else " " for char in agent)
    return " ".join(kept.split()).strip(".,:;\"'\\ ")[:64] or NOBODY
