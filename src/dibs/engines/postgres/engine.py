"""The PostgreSQL engine: for several machines that share a database, with failover that loses nothing.

One statement verifies everything that a step read, and writes. The second attempt holds a lock.
"""

from __future__ import annotations

from dibs.engines.postgres.session import PostgresSession
from dibs.engines.postgres.url import place
from dibs.engines.shared import clock
from dibs.engines.shared.optimistic import OptimisticEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.postgres.connection import PostgresConnection
    from dibs.engines.postgres.wait import PostgresWaiter


class PostgresEngine(OptimisticEngine):
    """Stores the state of ``project`` in the database that ``url`` names.

    A call takes at most about ``timeout`` seconds in addition to the step itself. ``memory`` is a
    file in which this machine keeps what it saw of the store. ``renew`` is the step that starts a
    new life of the store.
    """

    def __init__(
        self,
        url: str,
        project: str,
        *,
        timeout: float = 5.0,
        memory: str = "",
        renew: Callable[[Txn, str], None] | None = None,
        sources: clock.Sources | None = None,
    ) -> None:
        server = f"the PostgreSQL server at {place(url)}"
        session = PostgresSession(
            url, server, project, timeout, memory, renew, sources or clock.system_sources()
        )
        super().__init__(session, server, timeout)

    def waiter(self) -> PostgresWaiter:
        """Return a new object that waits for the ledger on a connection of its own."""
        from dibs.engines.postgres.wait import PostgresWaiter

        return PostgresWaiter(self._session, self._timeout)

    def check(self, link: PostgresConnection, until: float) -> list[Finding]:
        """Report what the store guarantees, over an open connection."""
        from dibs.engines.postgres.check import inspect

        return inspect(link, self._place, until)
