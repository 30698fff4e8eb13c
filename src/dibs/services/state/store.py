"""What all services share: an engine, the configuration, and how a step is run."""

from __future__ import annotations

from dibs.core.text.durations import check_ttl, show_span
from dibs.errors import BadInput, Unavailable, Unknown
from dibs.services.state.keys import CLOSED
from dibs.services.state.rows import Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.config.load import Config
    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")


class Store:
    """One project's engine, with the settings that its rules need.

    ``archive`` is the folder for the ledger's monthly files; without one, old entries are dropped.
    """

    __slots__ = ("archive", "config", "engine", "fold_case", "trim_every")

    def __init__(self, engine: Engine, config: Config, archive: str = "") -> None:
        self.engine = engine
        self.config = config
        self.archive = archive
        self.fold_case = config.fold_case
        #: After how many entries the ledger's bound is looked at.
        self.trim_every = max(1, config.ledger_limit // 20)

    def ttl(self, given: object = None) -> float:
        """Return the ttl of a claim: what the call says, else the setting; refuse what cannot be kept."""
        ttl = self.config.ttl if given is None else check_ttl(given)
        if ttl < self.engine.shortest_ttl:
            shortest = show_span(self.engine.shortest_ttl)
            raise BadInput(
                f"a ttl of {show_span(ttl)} is too short for this engine: at least {shortest}",
                code="TTL_RANGE",
                field="ttl",
            )
        return ttl

    @property
    def waiter_ttl(self) -> float:
        """How long a sign of life of a waiter counts."""
        return max(self.config.waiter_ttl, self.engine.shortest_ttl)

    def apply(self, step: Callable[[Rows], T]) -> T:
        """Run ``step`` as one transaction."""
        newest = 0

        def run(txn: Txn) -> T:
            nonlocal newest
            _refuse_if_closed(txn)
            rows = Rows(txn, fold_case=self.fold_case)
            answer = step(rows)
            rows.flush()
            newest = rows.newest
            return answer

        answer = self.engine.transact(run)
        if newest and newest % self.trim_every == 0:
            self._trim()
        return answer

    def _trim(self) -> None:
        """Keep ledger, mail and decisions within bounds; what cannot be archived now stays until it can."""
        from dibs.services.retention import trim
        from dibs.services.state.ledger import Ledger

        try:
            Ledger(self).trim()
            trim(self)
        except (OSError, Unavailable, Unknown):
            return  # the change itself is done, and its caller must hear so

    def look(self, step: Callable[[Rows], T]) -> T:
        """Run ``step``, which only reads, on a snapshot."""

        def run(txn: Txn) -> T:
            _refuse_if_closed(txn)
            return step(Rows(txn, fold_case=self.fold_case))

        return self.engine.view(run)


def _refuse_if_closed(txn: Txn) -> None:
    closed = txn.get(CLOSED)
    if closed is not None:
        from dibs.services.state.lifecycle import refusal

        raise refusal(closed)
