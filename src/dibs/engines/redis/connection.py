"""A connection to a Redis store and its knowledge: the script, the server's clock, the rows read so far."""

from __future__ import annotations

import hashlib
import os
import time

from dibs.engines.redis.errors import RedisError
from dibs.engines.redis.replica import Replica
from dibs.engines.redis.txn import entry_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.engines.redis.life import StoreMemory
    from dibs.engines.redis.mirror import MirrorKeys
    from dibs.engines.redis.txn import RedisTxn
    from dibs.engines.redis.wire import Wire

#: A project's keys, in the order of the script; their common hash tag keeps them on one cluster node.
NAMES = ("meta", "values", "keys", "ledger", "mirror")
#: Ledger entries that are read at once, and that the server checks at once in a search.
PAGE, SEARCHED = 500, 2_000
#: The name prefix of a life that ended because the store was repaired.
TORN = "torn-"
#: How far the server's clock may deviate: in seconds, and as a share of the time since the last reading.
STEP, RATE = 0.25, 0.05

with open(os.path.join(os.path.dirname(__file__), "script.lua"), encoding="utf-8") as _file:
    SCRIPT = _file.read()
_SHA = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()

_monotonic = time.monotonic
#: How many values the script returns after a write.
_WRITTEN = 3


def key_of(project: str, name: str) -> str:
    """Return the full name of one of a project's keys."""
    return f"dibs:{{{project}}}:{name}"


def clock_jump(now: float, low: float, high: float, passed: float) -> float:
    """Return how far ``now`` is outside of the range expected after ``passed`` seconds, or 0."""
    allowed = max(STEP, RATE * passed)
    if now < low - allowed:
        return now - low
    return now - high if now > high + allowed else 0.0


def newest_in(state: str) -> int:
    """Return the newest ledger number, from the state that the script keeps."""
    return int(state.split("|")[4])


class Header(Record):
    """The values that the script returns."""

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
    run: str
    #: The prefix of the keys that mirror rows; empty if none was used yet.
    prefix: str
    changed: list[str]
    points: list[str | None]
    ranges: list[list[str]]


class RedisConnection:
    """One connection's knowledge of the store. One thread uses it at a time."""

    __slots__ = ("_base_now", "_command", "_keys", "_since_boot", "answered", "asked", "base",
                 "jump", "life", "mirror", "newest", "replica", "slack", "wire")  # fmt: skip

    def __init__(
        self,
        wire: Wire,
        project: str,
        since_boot: Callable[[], float],
        mirror: MirrorKeys | None = None,
    ) -> None:
        self.wire = wire
        self.mirror = mirror
        self._keys = tuple(key_of(project, name) for name in NAMES)
        self._command = ("EVALSHA", _SHA, len(NAMES), *self._keys)
        self._since_boot = since_boot
        self.replica = Replica()
        self.life = ""
        self.newest = self.base = 0
        self._base_now = 0.0
        #: Readings of the monotonic clock before and after the server's last reply.
        self.asked = self.answered = 0.0
        #: The most that our clock can be behind the server's.
        self.slack = 0.0
        #: How far the server's clock jumped, in seconds, as far as this connection can tell.
        self.jump = 0.0

    def key(self, name: str) -> str:
        """Return the full name of one of the project's keys."""
        return self._keys[NAMES.index(name)]

    def now(self) -> float:
        """Return the current engine time, never ahead of the server's."""
        return self._base_now + (self._since_boot() - self.answered)

    def shift(self, seconds: float) -> None:
        """Shift our view of the engine's clock: the store is about to do the same."""
        self._base_now += seconds
        self.jump = 0.0

    def begin(self, until: float, memory: StoreMemory | None = None) -> Header:
        """Discard all knowledge, and read the store's life.

        With ``memory``, also ask the server whether it still has the last version we saw.
        """
        self.life = ""
        self.replica.forget()
        if memory is not None and memory.life:
            self.replica.version, self.replica.nonce = memory.version, memory.nonce
        header = self.look((), (), until)
        known = memory.life if memory is not None else header.life
        if header.life != known or header.status == "reset":
            self.replica.forget()
            header = self.look((), (), until)
        self.life = header.life or ""
        self.jump = 0.0
        self.replica.forget()
        if header.life is not None and header.status == "ok":
            self.learn(header, (), ())
        return header

    def look(
        self, points: Sequence[str], ranges: Sequence[tuple[str, str]], until: float
    ) -> Header:
        """Read the store, and what changed."""
        known = self.replica.version if self.replica.version >= 0 else ""
        head = ("look", self.life, known, "", "", "", self.replica.nonce)
        found = self._run(head, points, ranges, (), until)
        assert found is not None
        return found

    def write(
        self,
        txn: RedisTxn,
        nonce: str,
        turn: str,
        until: float,
        *,
        life: tuple[str | int, ...] = (),
    ) -> Header | None:
        """Write a step's changes if everything it read is unchanged; otherwise return what changed."""
        version = self.replica.version
        head = ("write", self.life, version if version >= 0 else "", int(txn.now * 1e6), nonce, turn,
                self.replica.nonce)  # fmt: skip
        tail = txn.words()
        mirror = self.mirror
        if mirror is None:
            tail.append("")
        else:
            mirror.offset = int(life[-1]) if life else mirror.offset
            tail += mirror.words(txn.pending, self.replica.known, always=bool(life))
        tail += life
        return self._run(head, list(txn.guessed_points), list(txn.guessed_ranges), tail, until)

    def copies(self, wanted: int, until: float) -> int:
        """Wait until this many replicas have every write; return how many have it in time."""
        patience = max(1, int((until - _monotonic()) * 800))
        count: int = self.wire.call("WAIT", wanted, patience, until=until)
        return count

    def settle(self, nonce: str, life: str, version: int, until: float) -> str:
        """Determine the outcome of a write on top of ``version``: if it has not happened, it never will."""
        known = version if version >= 0 else ""
        found = self._run(("settle", life, known, "", nonce, "", ""), (), (), (), until)
        assert found is not None
        return found.status

    def repair(self, until: float) -> None:
        """Make keys match values again if they do not; that ends the current life."""
        torn = TORN + os.urandom(6).hex()
        self._run(("repair", "", "", "", torn, "", ""), (), (), (), until)

    def _run(
        self,
        head: tuple[str | int, ...],
        points: Sequence[str],
        ranges: Sequence[tuple[str, str]],
        tail: Sequence[str | int],
        until: float,
    ) -> Header | None:
        words: list[Any] = [*self._command, *head, len(points), *points, len(ranges)]
        for pair in ranges:
            words += pair
        words += tail
        self.asked = self._since_boot()
        try:
            reply = self.wire.call(*words, until=until)
        except RedisError as error:
            if error.kind != "NOSCRIPT":
                raise
            words[:2] = "EVAL", SCRIPT
            reply = self.wire.call(*words, until=until)
        if len(reply) == _WRITTEN:
            self._note_time(reply[1])
            if self.mirror is not None:
                self.mirror.settle(reply[2])
            return None
        header = Header(*reply)
        self._note_time(header.now)
        return header

    def _note_time(self, moment: int) -> None:
        """Set our clock by the server's, and detect jumps."""
        read, now = self._since_boot(), moment / 1e6
        expected = self._base_now + (read - self.answered)
        if not -STEP / 2 < now - expected < STEP / 2 and self.answered:
            low, high = expected - (read - self.asked), expected + self.slack
            self.jump = clock_jump(now, low, high, read - self.answered)
        else:
            self.jump = 0.0
        self._base_now, self.answered, self.slack = now, read, read - self.asked

    def learn(
        self, header: Header, points: Sequence[str], ranges: Sequence[tuple[str, str]]
    ) -> None:
        """Apply what the server returned."""
        replica = self.replica
        self.newest, self.base = header.newest, header.base
        if self.mirror is not None:
            self.mirror.offset = header.offset
        if header.status == "reset":
            replica.forget()
            return
        replica.version, replica.nonce = header.version, header.nonce
        for key, value in zip(header.changed[::2], header.changed[1::2], strict=True):
            replica.change(key, value)
        replica.points.update(zip(points, header.points, strict=False))
        for pair, rows in zip(ranges, header.ranges, strict=False):
            replica.learn_range(pair, rows)

    def keep(self, txn: RedisTxn, nonce: str) -> None:
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
        replica.bound()

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
        """Yield the ledger entries above ``after`` and up to ``upto``, page by page.

        With ``agents`` or ``kinds``, only theirs; the server selects them.
        """
        ledger, search = self.key("ledger"), _search() if agents or kinds else ""
        while after < upto:
            low, high = f"{after + 1}-0", f"{upto}-0"
            command = ("XREVRANGE", high, low) if newest_first else ("XRANGE", low, high)
            if search:
                words = ("EVAL", search, 1, ledger, *command, SEARCHED, PAGE, len(agents))
                last, page = self.wire.call(*words, *agents, *kinds, until=until)
            else:
                verb, *ends = command
                page = self.wire.call(verb, ledger, *ends, "COUNT", PAGE, until=until)
                last = page[-1][0] if len(page) == PAGE else ""
            for identifier, flat in page:
                yield entry_of(identifier, flat)
            if not last:
                return
            number = int(last.partition("-")[0])
            after, upto = (after, number - 1) if newest_first else (number, upto)


def _search() -> str:
    with open(os.path.join(os.path.dirname(__file__), "search.lua"), encoding="utf-8") as file:
        return file.read()
