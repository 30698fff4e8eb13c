"""A connection to a store on a server, and what it knows of the store."""

from __future__ import annotations

from dibs.engines.shared.replica import Replica
from dibs.engines.shared.server_clock import ServerClock
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.engines.shared.memory import StoreMemory
    from dibs.engines.shared.replica_txn import ReplicaTxn


def micros(seconds: float) -> int:
    """Return a time in microseconds, as stores keep it."""
    return round(seconds * 1e6)


class Header(Record):
    """What a server returns about a store."""

    status: str
    #: The store's current life; None if the store does not exist.
    life: str | None
    version: int
    #: Distinguishes this version from another with the same number.
    nonce: str
    #: Microseconds on the engine's clock.
    now: int
    newest: int
    base: int
    latest: int
    #: The offset added to the server's clock, in microseconds.
    offset: int
    #: Which run of the server wrote last: a restart or a failover changes it.
    run: str
    #: The prefix of the keys that mirror rows; empty if none was used yet.
    prefix: str
    changed: Sequence[str | None]
    points: Sequence[str | None]
    ranges: Sequence[Sequence[str]]

    @property
    def has_rows(self) -> bool:
        """Whether a key or range that was asked for exists, so that a guess was wrong."""
        return any(value is not None for value in self.points) or any(self.ranges)


class StoreLink:
    """One connection's knowledge of the store. One thread uses it at a time."""

    __slots__ = ("base", "clock", "latest", "life", "newest", "replica")

    #: A cluster of servers, and a number that grows with each failover, if the technology has them.
    system: str = ""
    timeline: str = ""

    def __init__(self, since_boot: Callable[[], float]) -> None:
        self.clock = ServerClock(since_boot)
        self.replica = Replica()
        self.life = ""
        self.newest = self.base = 0
        #: The engine's clock at the store's last write, in microseconds.
        self.latest = 0

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        raise NotImplementedError

    def finish(self) -> None:
        """Release what a call has locked."""

    def look(
        self, points: Sequence[str], ranges: Sequence[tuple[str, str]], until: float
    ) -> Header:
        """Read the store, and what changed since the replica's version."""
        raise NotImplementedError

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

        ``tries`` is the number of failed attempts in this call. With ``life``, which is a name, a
        base, a run, and an offset, start that life.
        """
        raise NotImplementedError

    def settle(self, nonce: str, life: str, version: int, until: float) -> str:
        """Determine the outcome of a write on top of ``version``: if it has not happened, it never will.

        Return ``again`` if it happened, ``ok`` if not, and anything else if that is unknown.
        """
        raise NotImplementedError

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
        """Yield the ledger entries above ``after`` and up to ``upto``, of some agents and kinds or of all."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the current engine time, never ahead of the server's nor behind the last write."""
        return max(self.clock.now(), self.latest / 1e6)

    def begin(self, until: float, memory: StoreMemory | None = None) -> Header:
        """Discard all knowledge, and read the store's life.

        With ``memory``, also ask the server whether it still has the last version we saw.
        """
        self.life = ""
        self.latest = 0
        self.replica.forget()
        if memory is not None and memory.life:
            self.replica.version, self.replica.nonce = memory.version, memory.nonce
        header = self.look((), (), until)
        known = memory.life if memory is not None else header.life
        if header.life != known or header.status == "reset":
            self.replica.forget()
            header = self.look((), (), until)
        self.life = header.life or ""
        self.clock.jump = 0.0
        self.replica.forget()
        if header.life is not None and header.status == "ok":
            self.learn(header, (), ())
        return header

    def learn(
        self, header: Header, points: Sequence[str], ranges: Sequence[tuple[str, str]]
    ) -> None:
        """Apply what the server returned."""
        replica = self.replica
        self.newest, self.base, self.latest = header.newest, header.base, header.latest
        if header.status == "reset":
            replica.forget()
            return
        replica.version, replica.nonce = header.version, header.nonce
        for key, value in zip(header.changed[::2], header.changed[1::2], strict=True):
            assert key is not None
            replica.change(key, value)
        replica.points.update(zip(points, header.points, strict=False))
        for pair, rows in zip(ranges, header.ranges, strict=False):
            replica.learn_range(pair, rows)

    def keep(self, txn: ReplicaTxn, nonce: str) -> None:
        """Apply a step's writes; its guesses were right."""
        replica = self.replica
        # A store's first write finds no version.
        replica.version, replica.nonce = max(replica.version, 0) + 1, nonce
        for key in txn.guessed_points:
            replica.points[key] = None
        for pair in txn.guessed_ranges:
            replica.learn_range(pair, ())
        for key, value in txn.pending.items():
            replica.change(key, value)
        if txn.entries_out:
            self.newest = txn.entries_out[-1][0]
        self.latest = micros(txn.now)
        replica.bound()
