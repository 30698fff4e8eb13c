"""A connection to a Redis store and its knowledge: the script, the server's clock, the rows read so far."""

from __future__ import annotations

import hashlib
import os
import time

from dibs.engines.redis.errors import RedisError
from dibs.engines.shared.link import Header, StoreLink, micros
from dibs.engines.shared.replica_txn import stored_entry
from dibs.engines.shared.writes import filter_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.engines.redis.mirror import MirrorKeys
    from dibs.engines.redis.wire import Wire
    from dibs.engines.shared.replica_txn import ReplicaTxn

#: A project's keys, in the order of the script.
NAMES = ("meta", "values", "keys", "ledger", "mirror")
#: Ledger entries that are read at once.
PAGE = 500
#: The name prefix of a life that ended because the store was repaired.
TORN = "torn-"

with open(os.path.join(os.path.dirname(__file__), "script.lua"), encoding="utf-8") as _file:
    SCRIPT = _file.read()
_SHA = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()

_monotonic = time.monotonic
#: Number of failed attempts in one call after which a writer asks for priority.
_PATIENCE = 4
#: How many values the script returns after a write.
_WRITTEN = 3


def key_of(project: str, name: str) -> str:
    """Return the full name of one of a project's keys."""
    return f"dibs:{{{project}}}:{name}"


def newest_in(state: str) -> int:
    """Return the newest ledger number, from the state that the script keeps."""
    return int(state.split("|")[4])


class RedisConnection(StoreLink):
    """One connection's knowledge of the store, kept current by the script."""

    __slots__ = ("_command", "_keys", "mirror", "wire")

    def __init__(
        self,
        wire: Wire,
        project: str,
        since_boot: Callable[[], float],
        mirror: MirrorKeys | None = None,
    ) -> None:
        super().__init__(since_boot)
        self.wire = wire
        self.mirror = mirror
        self._keys = tuple(key_of(project, name) for name in NAMES)
        self._command = ("EVALSHA", _SHA, len(NAMES), *self._keys)

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""
        return self.wire.usable

    def close(self) -> None:
        """Close the connection."""
        self.wire.close()

    def key(self, name: str) -> str:
        """Return the full name of one of the project's keys."""
        return self._keys[NAMES.index(name)]

    def look(
        self, points: Sequence[str], ranges: Sequence[tuple[str, str]], until: float
    ) -> Header:
        """Read the store, and what changed since the replica's version."""
        known = self.replica.version if self.replica.version >= 0 else ""
        head = ("look", self.life, known, "", "", "", self.replica.nonce)
        found = self._run(head, points, ranges, (), until)
        assert found is not None
        return found

    def write(
        self,
        txn: ReplicaTxn,
        nonce: str,
        tries: int,
        until: float,
        *,
        life: tuple[str | int, ...] = (),
    ) -> Header | None:
        """Write a step's changes if everything it read is unchanged; otherwise return what changed."""
        version = self.replica.version
        turn = "life" if life else "" if tries < _PATIENCE else f"{os.getpid()}-{id(self):x}"
        head = ("write", self.life, version if version >= 0 else "", micros(txn.now), nonce, turn,
                self.replica.nonce)  # fmt: skip
        tail = _words(txn)
        mirror = self.mirror
        if mirror is None:
            tail.append("")
        else:
            mirror.offset = int(life[-1]) if life else mirror.offset
            tail += mirror.words(txn.pending, self.replica.known, always=bool(life))
        tail += life
        return self._run(head, list(txn.guessed_points), list(txn.guessed_ranges), tail, until)

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
        self.clock.ask()
        try:
            reply = self.wire.call(*words, until=until)
        except RedisError as error:
            if error.kind != "NOSCRIPT":
                raise
            words[:2] = "EVAL", SCRIPT
            reply = self.wire.call(*words, until=until)
        if len(reply) == _WRITTEN:
            self.clock.note(reply[1])
            if self.mirror is not None:
                self.mirror.settle(reply[2])
            return None
        header = Header(*reply)
        self.clock.note(header.now)
        return header

    def learn(
        self, header: Header, points: Sequence[str], ranges: Sequence[tuple[str, str]]
    ) -> None:
        """Apply what the server returned."""
        super().learn(header, points, ranges)
        if self.mirror is not None:
            self.mirror.offset = header.offset

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
        pages = self._pages(after, upto, newest_first=newest_first, until=until)
        return filter_entries(pages, agents, kinds)

    def _pages(self, after: int, upto: int, *, newest_first: bool, until: float) -> Iterator[Entry]:
        """Yield the entries of a range, page by page."""
        ledger = self.key("ledger")
        while after < upto:
            low, high = f"{after + 1}-0", f"{upto}-0"
            verb, *ends = ("XREVRANGE", high, low) if newest_first else ("XRANGE", low, high)
            page = self.wire.call(verb, ledger, *ends, "COUNT", PAGE, until=until)
            for identifier, flat in page:
                yield entry_of(identifier, flat)
            if len(page) < PAGE:
                return
            number = int(page[-1][0].partition("-")[0])
            after, upto = (after, number - 1) if newest_first else (number, upto)


def entry_of(identifier: str, flat: list[str]) -> Entry:
    """Parse an entry of the stream."""
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    named = (fields.get(name, "") for name in ("agent", "role", "kind", "summary"))
    number = int(identifier.partition("-")[0])
    return stored_entry(number, fields.get("at", "0"), *named, fields.get("details", "{}"))


def _words(txn: ReplicaTxn) -> list[str | int]:
    """Return the writes in the script's format."""
    puts: list[str | int] = []
    gone: list[str | int] = []
    for key, value in txn.pending.items():
        if value is None:
            gone.append(key)
        else:
            puts += (key, value)
    out: list[str | int] = [len(puts) // 2, *puts, len(gone), *gone, len(txn.entries_out)]
    for words in txn.entries_out:
        out += words
    out.append(txn.dropped_below)
    return out
