"""Keeping a connection to a Redis store: connect, check its life, reconnect."""

from __future__ import annotations

import os
import time
from functools import partial

from dibs.engines.redis import life, server
from dibs.engines.redis.connection import RedisConnection
from dibs.engines.redis.errors import Cut, NotSent, RedisError, passes, unavailable
from dibs.engines.redis.mirror import MirrorKeys
from dibs.engines.redis.txn import RedisTxn
from dibs.engines.redis.url import RedisNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Txn
    from dibs.engines.redis.connection import Header
    from dibs.engines.redis.life import LifeVerdict
    from dibs.engines.redis.mirror import Mirror
    from dibs.engines.redis.server import Facts
    from dibs.engines.redis.url import RedisTarget
    from dibs.engines.redis.wire import Wire
    from dibs.engines.shared.clock import Sources

_monotonic = time.monotonic
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25


class RedisSession:
    """One handle's connection; its owner ensures that one thread uses it at a time."""

    def __init__(
        self,
        target: RedisTarget,
        project: str,
        memory: str,
        renew: Callable[[Txn, str], None] | None,
        sources: Sources,
        mirror: Mirror | None = None,
    ) -> None:
        self.target = target
        self._mirror = mirror
        self.project = project
        self.sources = sources
        self._memory_path = memory
        self._memory = life.recall(memory)
        #: When what was seen was last stored.
        self.remembered = _monotonic()
        self._renew = renew
        self._moved: RedisNode | None = None
        self._link: RedisConnection | None = None
        self._pid = os.getpid()

    def link(self, until: float) -> RedisConnection:
        """Return the connection; open a new one if needed."""
        link = self._link
        if link is not None and link.wire.usable and self._pid == os.getpid():
            return link
        self.drop()
        return self._connect(until)

    def wire(self, until: float) -> Wire:
        """Open a separate connection, for a call that blocks."""
        return server.find(self.target, self._moved, until)

    def drop(self) -> None:
        """Drop the connection; the next use opens another."""
        link, self._link = self._link, None
        if link is not None:
            self._note(link)
            link.wire.close()
        self._pid = os.getpid()

    def close(self) -> None:
        """Close permanently, and store what was seen."""
        inherited = self._pid != os.getpid()
        self.drop()
        if self._memory.life and not inherited:
            life.remember(self._memory_path, self._memory, firmly=False)

    def _note(self, link: RedisConnection) -> None:
        if link.life:
            self._memory = life.later(self._memory, life.seen(link, self.sources))

    def remember(self, *, firmly: bool) -> None:
        """Store what was seen, although the connection stays open."""
        self.remembered = _monotonic()
        if self._link is not None:
            self._note(self._link)
        life.remember(self._memory_path, self._memory, firmly=firmly)

    def failed(self, problem: NotSent | Cut, until: float) -> None:
        """Handle a call that had no effect; raise if a retry makes no sense."""
        self.drop()
        self._follow(problem)
        if not passes(problem) or _monotonic() >= until:
            raise unavailable(self.target, problem)

    def is_usable(self, link: RedisConnection, header: Header, until: float) -> bool:
        """Return whether a reply can be used; if the life of the store is over, start another."""
        if link.jump:
            try:
                self._begin_life(link, life.jumped(link.jump), header.run, until)
            except (NotSent, Cut) as problem:
                self.failed(problem, until)
            return False
        if header.status in {"life", "damaged", "astray"}:
            self.drop()
            return False
        return True

    def _connect(self, until: float) -> RedisConnection:
        pause = _FIRST_PAUSE
        while True:
            try:
                self._link = self._open(until)
            except (NotSent, Cut) as problem:
                self._follow(problem)
                if not passes(problem) or _monotonic() + pause >= until:
                    raise unavailable(self.target, problem) from problem
            else:
                return self._link
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _open(self, until: float) -> RedisConnection:
        wire = self.wire(until)
        ready = False
        try:
            found = server.facts(wire, until)
            server.check(found, wire.node, by_sentinel=self.target.kind == "sentinel")
            link = RedisConnection(wire, self.project, self.sources.since_boot, self._keys())
            self._judge(link, found, until)
            ready = True
        finally:
            if not ready:
                wire.close()
        return link

    def _keys(self) -> MirrorKeys | None:
        if self._mirror is None:
            return None
        return MirrorKeys(self._mirror, self.project, cluster=self.target.kind == "cluster")

    def _judge(self, link: RedisConnection, found: Facts, until: float) -> None:
        header = link.begin(until, self._memory)
        if header.status == "damaged":
            link.repair(until)
            # Another process may have repaired it already and started a life that does not concern us.
            header = link.begin(until, self._memory)
        verdict = life.judge(link, header, found, self._memory, self.sources, until)
        if verdict.adopt:
            link.wire.call("HSET", link.key("meta"), "run", found.run_id, until=until)
        elif verdict.why:
            self._begin_life(link, verdict, found.run_id, until)

    def _begin_life(
        self, link: RedisConnection, verdict: LifeVerdict, run: str, until: float
    ) -> None:
        """Start a new life of the store, unless another process does it first."""
        over = link.life
        header = link.begin(until)
        read = partial(link.entries, until=until)
        name = os.urandom(8).hex()
        while link.life == over:
            # Every reply uses the old life's clock.
            link.shift(-verdict.jump)
            newest = max(header.newest, header.base)
            base = life.base_of_life(life.wall(), newest, self._memory)
            txn = RedisTxn(link.replica, link.now(), (header.newest, base), read)
            if verdict.why != life.FRESH and self._renew is not None:
                started = _monotonic()
                self._renew(txn, verdict.why)
                until += _monotonic() - started
            offset = header.offset - int(verdict.jump * 1e6)
            nonce = os.urandom(9).hex()
            answer = link.write(txn, nonce, "life", until, life=(name, base, run, offset))
            if answer is None:
                link.shift(-verdict.jump)
                link.keep(txn, nonce)
                link.life, link.base = name, base
                self._note(link)
                self.remember(firmly=True)
            elif answer.status in {"stale", "guess"}:
                link.learn(answer, list(txn.guessed_points), list(txn.guessed_ranges))
                header = answer
            else:
                header = link.begin(until)

    def _follow(self, problem: Exception) -> None:
        """Follow a cluster's redirect to the node of the project's slot, or look it up again."""
        words = str(problem).split()
        self._moved = None
        if isinstance(problem, RedisError) and words[:1] == ["MOVED"]:
            host, _, port = words[2].rpartition(":")
            self._moved = RedisNode(host or self.target.nodes[0].host, int(port))
