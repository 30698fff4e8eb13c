"""The Redis engine: for several machines that share a server.

One script verifies everything that a step read, and writes.
"""

from __future__ import annotations

import time

from dibs.engines.redis.session import RedisSession
from dibs.engines.redis.url import parse
from dibs.engines.shared import clock
from dibs.engines.shared.optimistic import OptimisticEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.redis.connection import RedisConnection
    from dibs.engines.redis.mirror import Mirror
    from dibs.engines.redis.wait import LedgerWaiter

#: Seconds that a writer pauses while another one has priority.
_REST = 0.002


class RedisEngine(OptimisticEngine):
    """Stores the state of ``project`` on the server that ``url`` names.

    A call takes at most about ``timeout`` seconds in addition to the step itself. ``memory`` is a
    file in which this machine keeps what it saw of the store. ``password`` is for a URL without
    one. ``renew`` is the step that starts a new life of the store. ``mirror`` describes plain keys
    that people can read.
    """

    def __init__(
        self,
        url: str,
        project: str,
        *,
        timeout: float = 5.0,
        memory: str = "",
        password: str = "",
        renew: Callable[[Txn, str], None] | None = None,
        sources: clock.Sources | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        target = parse(url)
        target = target if target.password else target._replace(password=password)
        session = RedisSession(
            target, project, memory, renew, sources or clock.system_sources(), mirror
        )
        super().__init__(session, f"Redis at {target}", timeout)

    def waiter(self) -> LedgerWaiter:
        """Return a new object that waits for the ledger on a connection of its own."""
        from dibs.engines.redis.wait import LedgerWaiter

        return LedgerWaiter(self._session, self._timeout)

    def check(self, link: RedisConnection, until: float) -> list[Finding]:
        """Report what the store guarantees, over an open connection."""
        from dibs.engines.redis.check import inspect

        return inspect(link, until)

    def _refused(self, status: str) -> None:
        if status == "turn":
            time.sleep(_REST)
