"""A connection to a PostgreSQL store, and its statements."""

from __future__ import annotations

from time import monotonic, sleep

from dibs.engines.postgres.wire import BEGIN
from dibs.engines.shared.link import Header, StoreLink, micros
from dibs.engines.shared.replica_txn import stored_entry
from dibs.engines.shared.turns import jitter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.engines.postgres.wire import PostgresWire, Rows, Statement
    from dibs.engines.shared.replica_txn import ReplicaTxn

_LOOK = b"SELECT * FROM dibs.look($1, $2, $3, $4, $5, $6, $7)"
_WRITE = b"SELECT * FROM dibs.write(" + b", ".join(b"$%d" % n for n in range(1, 24)) + b")"
_ENTRIES = (
    b"SELECT seq, at, agent, role, kind, summary, details FROM dibs.ledger"
    b" WHERE project = $1 AND seq > $2 AND seq <= $3"
    b" AND ($4::text[] = '{}' OR agent = ANY ($4)) AND ($5::text[] = '{}' OR kind = ANY ($5))"
    b" ORDER BY seq %s LIMIT %d"
)
#: Before the entries: return their times in full.
_EXACT: Statement = (b"SELECT dibs.isolate(), set_config('extra_float_digits', '3', true)", ())
_SETTLE = b"SELECT dibs.settle($1, $2, $3, $4, $5)"
_BEGIN: Statement = (BEGIN, ())
_COMMIT: Statement = (b"COMMIT", ())
_ROLLBACK: Statement = (b"ROLLBACK", ())
_PAGE = 500
#: Seconds for which a writer lets others continue before it waits for the lock, randomized; the second
#: applies if it also had a conflict in the last ``_CROWDED`` seconds.
_PAUSE, _LONG_PAUSE, _CROWDED = 0.01, 0.12, 0.25

#: Greater than every key: longer than an index entry can be.
_END = "\U0010ffff" * 1000


class PostgresConnection(StoreLink):
    """One connection's knowledge of a project's store.

    A write is one statement, which locks the store only while it runs. If others write at the same time, the
    connection pauses, waits for the lock, and keeps it while the step runs again.
    """

    __slots__ = (
        "_crowded_until", "_locked", "_runs", "project", "system", "timeline", "was_replicated",
        "wire",
    )  # fmt: skip

    def __init__(self, wire: PostgresWire, project: int, since_boot: Callable[[], float]) -> None:
        super().__init__(since_boot)
        self.wire = wire
        self.project = b"%d" % project
        self._locked = False
        self._crowded_until = 0.0
        #: The timeline that wrote the store, and the server's, as last judged.
        self._runs = ("", "")
        #: The server's cluster, and its timeline, which a failover changes.
        self.system, self.timeline = wire.system, wire.timeline
        #: Whether a synchronous standby confirmed the store's last write.
        self.was_replicated = False

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""
        return self.wire.usable

    def close(self) -> None:
        """Close the connection."""
        self._locked = False
        self.wire.close()

    def finish(self) -> None:
        """Unlock the store, if a step that was to run again has written nothing."""
        if self._locked:
            self._locked = False
            self.wire.run(_ROLLBACK, until=monotonic() + 1)

    def look(
        self, points: Sequence[str], ranges: Sequence[tuple[str, str]], until: float
    ) -> Header:
        """Read the store, and what changed since the replica's version."""
        (rows,) = self.wire.run(self._reading(points, ranges), until=until)
        return self._header(rows, points, len(ranges))

    def lock(
        self, points: Sequence[str], ranges: Sequence[tuple[str, str]], until: float
    ) -> Header:
        """Lock the store, and read it."""
        self._locked = True
        _, _, rows = self.wire.run(
            _BEGIN, self._entering(until), self._reading(points, ranges), until=until
        )
        return self._header(rows, points, len(ranges))

    def write(
        self,
        txn: ReplicaTxn,
        nonce: str,
        tries: int,
        until: float,
        *,
        life: tuple[str | int, ...] = (),
    ) -> Header | None:
        """Write a step's changes if everything it read is unchanged; otherwise return what changed.

        If others write at the same time, wait for the lock, and keep it until the next attempt.
        """
        points, ranges = list(txn.guessed_points), list(txn.guessed_ranges)
        if self._locked and txn.guesses:  # check them first, and keep the lock
            header = self.look(points, ranges, until)
            if header.has_rows:
                return header._replace(status="guess") if header.status == "ok" else header
        statement = (_WRITE, self._values(txn, nonce, life))
        self.clock.ask()
        found = self.wire.run(*([statement, _COMMIT] if self._locked else [statement]), until=until)
        self._locked = False
        (_, status, now), *rows = found[0]
        assert status is not None
        if status == b"ok":
            self.clock.note(int(now or 0))
            self._runs = (self.timeline, self.timeline)
            return None
        if status == b"busy" or tries:
            sleep(jitter(_LONG_PAUSE if monotonic() < self._crowded_until else _PAUSE))
            self._crowded_until = monotonic() + _CROWDED
            return self.lock(points, ranges, until)
        header = self._header(rows, points, len(ranges))
        return header._replace(status=status.decode()) if header.status == "ok" else header

    def settle(self, nonce: str, life: str, version: int, until: float) -> str:
        """Determine the outcome of a write on top of ``version``; if it has not happened, prevent it."""
        limit, known = b"%d" % _milliseconds(until), b"%d" % max(0, version)
        values = (self.project, limit, known, nonce.encode(), life.encode())
        (((status,),),) = self.wire.run((_SETTLE, values), until=until)
        return _text(status)

    def adopt(self, seconds: float, until: float) -> None:
        """Continue the life on another server: record its timeline, and shift the clock."""
        text = b"UPDATE dibs.project SET timeline = $2, shift = shift + $3 WHERE id = $1 AND timeline <> $2"
        values = (self.project, self.timeline.encode(), b"%d" % micros(seconds))
        self.wire.run(self._entering(until), (text, values), until=until)
        self.clock.shift(seconds)
        self._runs = (self.timeline, self.timeline)

    def entries(
        self,
        after: int,
        upto: int,
        newest_first: bool,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
        *,
        until: float,
    ) -> Iterator[Entry]:
        """Yield the ledger entries above ``after`` and up to ``upto``, page by page."""
        text = _ENTRIES % (b"DESC" if newest_first else b"ASC", _PAGE)
        wanted = (_array(agents), _array(kinds))
        while after < upto:
            values = (self.project, b"%d" % after, b"%d" % upto, *wanted)
            _, rows = self.wire.run(_EXACT, (text, values), until=until)
            for row in rows:
                number, *words = map(_text, row)
                yield stored_entry(int(number), *words)
            if len(rows) < _PAGE:
                return
            after, upto = (after, int(number) - 1) if newest_first else (int(number), upto)

    def _entering(self, until: float) -> Statement:
        return b"SELECT dibs.enter($1, $2)", (self.project, b"%d" % _milliseconds(until))

    def _reading(self, points: Sequence[str], ranges: Sequence[tuple[str, str]]) -> Statement:
        replica = self.replica
        known = (b"%d" % replica.version, replica.nonce.encode())
        self.clock.ask()
        return _LOOK, (self.project, *known, _array(points), *_bounds(ranges))

    def _values(self, txn: ReplicaTxn, nonce: str, life: tuple[str | int, ...]) -> list[bytes]:
        puts = [(key, value) for key, value in txn.pending.items() if value is not None]
        gone = [key for key, value in txn.pending.items() if value is None]
        columns = list(zip(*txn.entries_out, strict=True)) or [()] * 7
        newest = txn.entries_out[-1][0] if txn.entries_out else self.newest
        numbers = (
            self.life.encode(), b"%d" % max(0, self.replica.version), self.replica.nonce.encode(),
            nonce.encode(), b"%d" % micros(txn.now),
        )  # fmt: skip
        return [
            self.project, *numbers, _array(txn.guessed_points), *_bounds(txn.guessed_ranges),
            _array(key for key, _ in puts), _array(value for _, value in puts), _array(gone),
            b"%d" % newest, b"%d" % txn.dropped_below, *map(_array, columns), _array(life),
        ]  # fmt: skip

    def _header(self, rows: Rows, points: Sequence[str], ranges: int) -> Header:
        status, text = "", ""
        changed: list[str | None] = []
        values: dict[str, str] = {}
        found: list[list[tuple[str, str]]] = [[] for _ in range(ranges)]
        for number, key, value in rows:
            match int(number or 0):
                case -1:
                    status, text = _text(key), _text(value)
                case 0:
                    changed += (_text(key), None if value is None else value.decode())
                case 1:
                    values[_text(key)] = _text(value)
                case n:
                    found[n - 2].append((_text(key), _text(value)))
        life, *words = text.split("|")
        version, nonce, now, newest, base, latest, offset, run, self.timeline, replicated = words
        self.was_replicated = replicated == "1"
        self.clock.note(int(now))
        if not self.life:
            self._runs = (run, self.timeline)
        elif status == "ok" and (life, run, self.timeline) != (self.life, *self._runs):
            status = "life"
        flat = [[part for row in sorted(one) for part in row] for one in found]
        return Header(
            status, life or None, int(version), nonce, int(now), int(newest), int(base), int(latest),
            int(offset), run, "", changed, list(map(values.get, points)), flat,
        )  # fmt: skip


def high(prefix: str) -> str:
    """Return the lowest text above all texts that start with ``prefix``."""
    rest = prefix.rstrip("\U0010ffff")
    after = "\ue000" if rest[-1:] == "\ud7ff" else chr(ord(rest[-1:] or " ") + 1)
    return rest[:-1] + after if rest else _END


def _bounds(ranges: Collection[tuple[str, str]]) -> tuple[bytes, bytes, bytes]:
    return (
        _array(prefix for prefix, _ in ranges),
        _array(high(prefix) for prefix, _ in ranges),
        _array(containing for _, containing in ranges),
    )


def _array(texts: Iterable[object]) -> bytes:
    """Return an array in PostgreSQL's notation."""
    parts = [str(text).replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return ('{"' + '","'.join(parts) + '"}').encode() if parts else b"{}"


def _text(value: bytes | None) -> str:
    return (value or b"").decode()


def _milliseconds(until: float) -> int:
    return max(2, int((until - monotonic()) * 1000))
