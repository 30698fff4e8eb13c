"""What all services share: an engine, the configuration, and how a step is run.

Liveness is decided here for all services. A step that looks at the claims of an agent whose process is gone
sees them as expired. A step that may write ends such agents first, and is then run again.
"""

from __future__ import annotations

from dibs.core.text.durations import check_ttl, show_span
from dibs.errors import BadInput, DibsError, Unavailable, Unknown
from dibs.services.state.keys import CLOSED
from dibs.services.state.rows import Rows
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.config.load import Config
    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")


class StoreCallbacks(Record):
    """What a store needs of the services above it; ``project`` hands it in."""

    #: Forget old mail and decisions.
    trim: Callable[[Store], object] | None = None
    #: Carry out the deadlines that have passed.
    settle: Callable[[Store], object] | None = None
    #: End agents of this machine whose processes are gone.
    end_gone: Callable[[Store, set[str]], object] | None = None
    #: The folder that exists where agents were guarded on this machine; empty for none.
    sessions: str = ""


class Store:
    """One project's engine, with the settings that its rules need.

    ``archive`` is the folder for the ledger's monthly files; without one, old entries are dropped.
    """

    __slots__ = ("archive", "callbacks", "config", "engine", "fold_case", "trim_every")

    def __init__(
        self,
        engine: Engine,
        config: Config,
        archive: str = "",
        callbacks: StoreCallbacks = StoreCallbacks(),  # noqa: B008 - a record, never changed
    ) -> None:
        self.engine = engine
        self.config = config
        self.archive = archive
        self.callbacks = callbacks
        self.fold_case = config.fold_case
        #: After how many entries the ledger's bound is looked at.
        self.trim_every = max(1, config.ledger_limit // 20)

    def ttl(self, given: object = None) -> float:
        """Return the ttl of a claim: what the call says, else the setting; refuse what cannot be kept."""
        ttl = self.config.ttl if given is None else check_ttl(given)
        if ttl < self.engine.shortest_ttl:
            shortest = show_span(self.engine.shortest_ttl)
            raise BadInput(
                f"ttl {show_span(ttl)} is too short for this engine; the minimum is {shortest}",
                code="TTL_RANGE",
                field="ttl",
            )
        return ttl

    @property
    def waiter_ttl(self) -> float:
        """How long a sign of life of a waiter counts."""
        return max(self.config.waiter_ttl, self.engine.shortest_ttl)

    def apply(self, step: Callable[[Rows], T]) -> T:
        """Run ``step`` as one transaction; end agents that it found gone, and run it again without them."""
        tried: set[str] = set()

        def run(txn: Txn) -> tuple[T, int]:
            return self._run(txn, step, tried)

        while True:
            try:
                answer, newest = self.engine.transact(run)
                break
            except _GoneFoundError as found:
                tried |= found.agents
                self._end_gone(found.agents)
        if newest and newest % self.trim_every == 0:
            self._trim()
        return answer

    def _run(self, txn: Txn, step: Callable[[Rows], T], tried: set[str]) -> tuple[T, int]:
        _refuse_if_closed(txn)
        rows = Rows(txn, fold_case=self.fold_case, sessions=self.callbacks.sessions)
        rows.take_for_present(tried)
        answer = step(rows)
        if rows.gone:
            raise _GoneFoundError(rows.gone)
        rows.flush()
        return answer, rows.newest

    def _end_gone(self, agents: set[str]) -> None:
        """End agents whose processes are gone; who cannot be ended now keeps its claims until they expire."""
        end_gone = self.callbacks.end_gone
        if end_gone is not None:
            try:
                end_gone(Store(self.engine, self.config, self.archive), agents)
            except DibsError:
                return

    def settle(self) -> None:
        """Carry out the deadlines that have passed, so that a reader sees what became of them."""
        if self.callbacks.settle is not None:
            self.callbacks.settle(self)

    def _trim(self) -> None:
        """Keep ledger, mail and decisions within bounds; what cannot be archived now stays until it can."""
        from dibs.services.state.ledger import Ledger

        try:
            Ledger(self).trim()
            if self.callbacks.trim is not None:
                self.callbacks.trim(self)
        except (OSError, Unavailable, Unknown):
            return  # the change itself is done, and its caller must hear so

    def now(self) -> float:
        """Return the time on the engine's clock; a closed store tells it, too."""
        return self.engine.view(lambda txn: txn.now)

    def look(self, step: Callable[[Rows], T]) -> T:
        """Run ``step``, which only reads, on a snapshot."""

        def run(txn: Txn) -> T:
            _refuse_if_closed(txn)
            return step(Rows(txn, fold_case=self.fold_case, sessions=self.callbacks.sessions))

        return self.engine.view(run)


class _GoneFoundError(Exception):
    """Rolls a transaction back that met claims of agents whose processes are gone."""

    def __init__(self, agents: set[str]) -> None:
        super().__init__()
        self.agents = agents


def _refuse_if_closed(txn: Txn) -> None:
    closed = txn.get(CLOSED)
    if closed is not None:
        from dibs.services.state.lifecycle import refusal

        raise refusal(closed)
