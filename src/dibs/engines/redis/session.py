"""Keeping a connection to a Redis store."""

from __future__ import annotations

from dibs.engines.redis import life, server
from dibs.engines.redis.connection import RedisConnection
from dibs.engines.redis.errors import passes, unavailable
from dibs.engines.redis.mirror import MirrorKeys
from dibs.engines.redis.wire import connect
from dibs.engines.shared.session import StoreSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Txn
    from dibs.engines.redis.mirror import Mirror
    from dibs.engines.redis.server import Facts
    from dibs.engines.redis.url import RedisTarget
    from dibs.engines.redis.wire import Wire
    from dibs.engines.shared.clock import Sources
    from dibs.errors import DibsError


class RedisSession(StoreSession):
    """Connects to the server that a URL names."""

    def __init__(
        self,
        target: RedisTarget,
        project: str,
        memory: str,
        renew: Callable[[Txn, str], None] | None,
        sources: Sources,
        mirror: Mirror | None = None,
    ) -> None:
        super().__init__(memory, renew, sources)
        self.target = target
        self.project = project
        self._mirror = mirror

    def passes(self, problem: Exception) -> bool:
        """Return whether a retry makes sense."""
        return passes(problem)

    def unavailable(self, problem: Exception) -> DibsError:
        """Return the Dibs error for a call that had no effect."""
        return unavailable(self.target, problem)

    def wire(self, until: float) -> Wire:
        """Open a separate connection, for a call that blocks."""
        return connect(self.target, until)

    def open(self, until: float) -> RedisConnection:
        """Open a connection and check the life of the store."""
        wire = self.wire(until)
        ready = False
        try:
            found = server.facts(wire, until)
            server.check(found, wire.node)
            link = RedisConnection(wire, self.project, self.sources.since_boot, self._keys())
            self._judge(link, found, until)
            ready = True
        finally:
            if not ready:
                wire.close()
        return link

    def _keys(self) -> MirrorKeys | None:
        return None if self._mirror is None else MirrorKeys(self._mirror, self.project)

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
            self.begin_life(link, verdict, found.run_id, until)
