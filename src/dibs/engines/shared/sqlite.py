"""A step's view of a SQLite store, and the translation of SQLite's errors.

Key writes are held back and written together.
"""

from __future__ import annotations

import apsw

from dibs.core.claims.ledger import Entry, decode_details, encode_details
from dibs.engines.shared.writes import Pending, RefusesWrites, not_above
from dibs.errors import DibsError, Misconfigured, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any, NoReturn

    from dibs.core.claims.ledger import Event

_GET = "SELECT value FROM kv WHERE key = ?"
#: Give unused pages back to the file system, few enough that it takes milliseconds; see sqlite/open.py.
_SHRINK = "PRAGMA incremental_vacuum(500)"
_EMIT = "INSERT INTO ledger(at, agent, role, kind, summary, details) VALUES (?, ?, ?, ?, ?, ?)"
_ENTRIES = "SELECT seq, at, agent, role, kind, summary, details FROM ledger WHERE seq > ?"

_DAMAGED = "the file was not changed; restore a backup, or move it and its -wal file away and run `dibs init`"
#: The most ranges, and the most rows, in one statement.
_MANY = 32


class SqliteTxn:
    """One step's view of the state. It sees its own writes."""

    __slots__ = ("_cursors", "_db", "_pending", "_run", "first", "last", "now")

    def __init__(self, db: apsw.Connection, run: Callable[..., apsw.Cursor], now: float) -> None:
        self._db = db
        self._run = run
        self._pending = Pending()
        self._cursors: list[apsw.Cursor] = []
        self.now = now
        #: The first and the last number that this step added to the ledger; 0 for none.
        self.first = self.last = 0

    def get(self, key: str) -> str | None:
        """Return the value of ``key``."""
        if key in self._pending:
            return self._pending[key]
        for (value,) in self._run(_GET, (key,)):
            return str(value)
        return None

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the keys and values of each range in turn, in key order."""
        if self._pending and self._pending.touches(tuple(prefix for prefix, _ in ranges)):
            return self._merged(ranges)
        if len(ranges) <= _MANY:
            return self._rows(ranges)
        return self._chunks(ranges)

    def put(self, key: str, value: str) -> None:
        """Set ``key`` to ``value``."""
        self._pending[key] = value

    def delete(self, key: str) -> None:
        """Remove ``key``, if it exists."""
        self._pending[key] = None

    def emit(self, event: Event) -> int:
        """Append ``event`` to the ledger and return its sequence number."""
        agent, role, kind, summary, details = event
        text = encode_details(details) if details else "{}"
        self._run(_EMIT, (self.now, agent, role, str(kind), summary, text))
        self.last = number = self._db.last_insert_rowid()
        self.first = self.first or number
        return number

    def events(
        self,
        after: int = 0,
        *,
        newest_first: bool = False,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> Iterator[Entry]:
        """Yield the ledger entries above the number ``after``, of some agents and kinds or of all."""
        query = _ENTRIES
        values: list[int | str] = [after]
        for column, wanted in (("agent", agents), ("kind", kinds)):
            if wanted:
                query += f" AND {column} IN ({', '.join('?' * len(wanted))})"
                values += wanted
        query += " ORDER BY seq DESC" if newest_first else " ORDER BY seq"
        cursor = self._cursor().execute(query, tuple(values))
        return (
            Entry(seq, at, agent, role, kind, summary, decode_details(details))
            for seq, at, agent, role, kind, summary, details in cursor
        )

    def restore(self, entry: Entry) -> None:
        """Append an entry of another store with its number and time."""
        found: Any = self._run("SELECT coalesce(max(seq), 0) FROM ledger").fetchall()
        newest: int = found[0][0]
        if entry.seq <= newest:
            raise not_above(entry.seq, newest)
        *fields, details = entry
        self._run(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)", (*fields, encode_details(details))
        )
        self.last = entry.seq
        self.first = self.first or entry.seq

    def trim(self, upto: int) -> int:
        """Drop the entries up to ``upto``, but never the newest; return how many were dropped."""
        self._run(
            "DELETE FROM ledger WHERE seq <= ? AND seq < (SELECT max(seq) FROM ledger)", (upto,)
        )
        dropped = self._db.changes()
        self._run(_SHRINK).fetchall()  # each step frees one page
        return dropped

    def flush(self) -> None:
        """Write what was held back."""
        puts: list[str] = []
        gone: list[str] = []
        for key, value in self._pending.items():
            if value is None:
                gone.append(key)
            else:
                puts += (key, value)
        for at in range(0, len(puts), 2 * _MANY):
            some = puts[at : at + 2 * _MANY]
            self._run(_PUTS[len(some) // 2], some)
        for at in range(0, len(gone), _MANY):
            some = gone[at : at + _MANY]
            self._run(_DELETES[len(some)], some)

    def end(self) -> None:
        """Close open reads of the step, which would block the next transaction."""
        for cursor in self._cursors:
            cursor.close(force=True)
        self._run = _ended

    def _cursor(self) -> apsw.Cursor:
        cursor = self._db.cursor()
        self._cursors.append(cursor)
        return cursor

    def _rows(self, ranges: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
        bounds = [part for one in ranges for part in one]
        cursor: Iterator[tuple[str, str]] = self._cursor().execute(_SCANS[len(ranges)], bounds)
        return cursor

    def _chunks(self, ranges: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
        for at in range(0, len(ranges), _MANY):
            yield from self._rows(ranges[at : at + _MANY])

    def _merged(self, ranges: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
        pending = self._pending
        for one in ranges:
            own = pending.under(*one)
            own.reverse()
            for row in self._rows((one,)):
                while own and own[-1] <= row[0]:
                    yield from self._own(own.pop())
                if row[0] not in pending:
                    yield row
            while own:
                yield from self._own(own.pop())

    def _own(self, key: str) -> Iterator[tuple[str, str]]:
        value = self._pending[key]
        if value is not None:
            yield key, value


class SqliteView(RefusesWrites, SqliteTxn):
    """A step's view of a snapshot; it refuses writes."""

    __slots__ = ()


def _ended(*_: object) -> NoReturn:
    raise RuntimeError("the step has ended; its transaction can no longer be used")


# No UTF-8 text contains the byte FF, so it ends the range of every prefix, even the empty one.
# Every text contains "".
_RANGE = (
    "SELECT key, value FROM kv"
    " WHERE key >= ?{} AND key < ?{} || CAST(x'FF' AS TEXT) AND instr(key, ?{})"
)


class _Statements(dict[int, str]):
    """SQL text by number of ranges or rows, built when first needed."""

    def __init__(self, make: Callable[[int], str]) -> None:
        self._make = make

    def __missing__(self, count: int) -> str:
        self[count] = sql = self._make(count)
        return sql


# SQLite runs the arms of a UNION ALL in order and reads each along the primary key.
_SCANS = _Statements(
    lambda count: " UNION ALL ".join(
        _RANGE.format(first, first, first + 1) for first in range(1, 2 * count, 2)
    )
)
_SCANS[0] = "SELECT key, value FROM kv WHERE 0"
_PUTS = _Statements(
    lambda count: (
        f"INSERT INTO kv(key, value) VALUES {', '.join(['(?, ?)'] * count)}"  # noqa: S608
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value"
    )
)
_DELETES = _Statements(
    lambda count: f"DELETE FROM kv WHERE key IN ({', '.join('?' * count)})"  # noqa: S608
)


def translate(error: apsw.Error, path: str, *, committing: bool = False) -> DibsError:
    """Return the Dibs error for a SQLite error; ``committing`` if COMMIT itself raised it."""
    match error:
        case apsw.IOError() if committing:
            found: DibsError = Unknown(f"disk error while writing {path}")
        case apsw.FullError():
            found = Unavailable(
                f"no space left for {path}",
                code="STORAGE_FULL",
                hint="free some disk space, then try again",
            )
        case apsw.ReadOnlyError():
            found = read_only(path)
        case apsw.BusyError() | apsw.LockedError():
            found = busy(path)
        case apsw.CorruptError() | apsw.NotADBError():
            found = Unavailable(f"{path} is damaged: {error}", code="STORE_DAMAGED", hint=_DAMAGED)
        case _:
            found = Unavailable(f"SQLite cannot use {path}: {error}", code="STORAGE_IO")
    return found


def busy(path: str) -> Unavailable:
    """Return the error for a store that was busy for the whole timeout."""
    return Unavailable(
        f"timed out: other processes kept {path} busy", code="STORE_BUSY", hint="try again"
    )


def read_only(path: str) -> Unavailable:
    """Return the error for a write to a read-only store."""
    return Unavailable(f"{path} is read-only", code="STORAGE_READONLY")


def outdated(path: str) -> Unavailable:
    """Return the error for a read-only store that lost its newest changes, so that no new life can start."""
    return Unavailable(
        f"{path} lost its newest changes and is read-only",
        code="STORAGE_READONLY",
        hint="make the file and its folder writable",
    )


def replaced(path: str) -> Unavailable:
    """Return the error for a file that is no longer the one that was opened."""
    return Unavailable(
        f"{path} was deleted, replaced, or truncated while it was open",
        code="STORE_REPLACED",
        hint="restart this process to open the store again",
    )


def not_a_database(path: str) -> Misconfigured:
    """Return the error for a file that is not a SQLite database."""
    return Misconfigured(f"not a SQLite database: {path}", code="STORE_FOREIGN")
