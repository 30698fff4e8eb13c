"""Keeping a connection to a PostgreSQL store, and deciding whether its life continues.

A failover starts a new timeline. If a synchronous standby had confirmed the store's last write, nothing
was lost, and the life continues. Otherwise, or if this machine has seen later writes, a new life starts.
"""

from __future__ import annotations

from dibs.engines.postgres.connection import PostgresConnection
from dibs.engines.postgres.errors import OUTDATED, ServerError, passes, unavailable
from dibs.engines.postgres.schema import project_id
from dibs.engines.postgres.wire import PostgresWire, primary
from dibs.engines.shared.memory import LifeVerdict, jump_since, jumped, later, loss, recall
from dibs.engines.shared.session import StoreSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Txn
    from dibs.engines.shared.clock import Sources
    from dibs.engines.shared.link import Header
    from dibs.errors import DibsError


class PostgresSession(StoreSession):
    """Connects to the database that a URL names."""

    def __init__(
        self,
        url: str,
        place: str,
        project: str,
        timeout: float,
        memory: str,
        renew: Callable[[Txn, str], None] | None,
        sources: Sources,
    ) -> None:
        super().__init__(memory, renew, sources)
        self._url, self.place, self._project, self._timeout = url, place, project, timeout

    def passes(self, problem: Exception) -> bool:
        """Return whether a retry makes sense."""
        return passes(problem)

    def unavailable(self, problem: Exception) -> DibsError:
        """Return the Dibs error for a call that had no effect."""
        return unavailable(self.place, problem)

    def wire(self, until: float) -> tuple[PostgresWire, int]:
        """Open a separate connection; return it and the project's number."""
        wire = primary(self._url, self._timeout, until)
        known = self._memory
        if wire.is_older(known.system, known.timeline):
            wire.close()
            numbers = int(wire.timeline, 16), int(known.timeline, 16)
            text = "its timeline is %d, but this machine has seen %d, so another server was promoted since"
            raise ServerError(OUTDATED, text % numbers)
        try:
            return wire, project_id(wire, self._project, until)
        except BaseException:
            wire.close()
            raise

    def open(self, until: float) -> PostgresConnection:
        """Open a connection and check the life of the store."""
        self._memory = later(self._memory, recall(self._memory_path))  # what other processes saw
        wire, project = self.wire(until)
        try:
            link = PostgresConnection(wire, project, self.sources.since_boot)
            header = link.begin(until, self._memory)
            verdict = self._judge(link, header)
            if verdict.adopt:
                link.adopt(-verdict.jump, until)
            elif verdict.why:
                self.begin_life(link, verdict, link.timeline, until)
        except BaseException:
            wire.close()
            raise
        return link

    def _judge(self, link: PostgresConnection, header: Header) -> LifeVerdict:
        """Decide whether the life of the store continues."""
        memory = self._memory
        if why := loss(header, memory, "database"):
            return LifeVerdict(why)
        jump = jump_since(link.clock, header, memory, self.sources)
        if header.run == link.timeline:
            return jumped(jump)
        if link.was_replicated:
            # The new primary's own clock may differ; the engine's clock continues.
            return LifeVerdict(jump=jump, adopt=True)
        return LifeVerdict("another server took over and may lack the newest writes")
