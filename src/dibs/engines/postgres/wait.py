"""Waiting for a PostgreSQL store's ledger; short because only notifications differ from other engines."""

from __future__ import annotations

from dibs.engines.shared.waiter import StoreWaiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.postgres.wire import PostgresWire

#: Seconds after which the ledger is read again, with and without notifications.
_FALLBACK, _POLL = 5.0, 0.02
_NEWEST = b"SELECT newest FROM dibs.project WHERE id = $1"
#: Shows writers that someone waits: without this lock, they do not notify.
_REGISTER = b"SELECT pg_try_advisory_lock_shared(1684628084, $1)"


class PostgresWaiter(StoreWaiter):
    """Waits for notifications. A pooler passes on none, so the ledger is read at short intervals then."""

    __slots__ = ("_project", "_registered")

    def connect(self, until: float) -> PostgresWire:
        """Open a connection, and listen."""
        wire: PostgresWire
        wire, number = self._session.wire(until)
        self._project = b"%d" % number
        self._registered = False
        if not wire.pooled:
            wire.run((b"LISTEN dibs_%d" % number, ()), until=until)
        return wire

    def newest(self, until: float) -> int:
        """Return the newest number in the ledger; before the first time, tell writers to notify us."""
        newest = (_NEWEST, (self._project,))
        if self._registered or self._wire.pooled:
            (rows,) = self._wire.run(newest, until=until)
        else:  # it fails while a writer that does not notify us commits
            register = (_REGISTER, (self._project,))
            ((got,),), rows = self._wire.run(register, newest, until=until)
            self._registered = got == b"t"
        return int(rows[0][0]) if rows else 0

    def block(self, after: int, seconds: float) -> None:  # noqa: ARG002 - every entry is notified
        """Wait until the server notifies us, or for at most ``seconds``."""
        self._wire.wait(min(seconds, _FALLBACK if self._registered else _POLL))
