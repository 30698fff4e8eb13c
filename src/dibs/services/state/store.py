"""What all services share: an engine, the configuration, and how a step runs.

A step that needs facts from outside the store (see services/state/facts.py) runs again once they are known.
If it may write, dead agents that it met are ended first.
"""

from __future__ import annotations

from dibs.core.text.durations import check_ttl, show_span
from dibs.errors import BadInput, DibsError, Unavailable, Unknown
from dibs.services.state.facts import OutsideFacts
from dibs.services.state.rows import Rows
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn, TypeVar

    from dibs.config.load import Config
    from dibs.engines.base import Engine, Txn
    from dibs.services.state.facts import ClaimKey, Work, WorkQuestion

    T = TypeVar("T")


#: How long a waiter keeps its position in the queue after its last heartbeat, in seconds.
WAITER_TTL = 30.0


class StoreCallbacks(Record):
    """What a store needs from services above it; ``project`` provides it."""

    #: Delete old messages and decisions.
    trim: Callable[[Store], object] | None = None
    #: Handle the deadlines that have passed.
    settle: Callable[[Store], object] | None = None
    #: End agents on this machine whose processes are dead.
    end_gone: Callable[[Store, set[str]], object] | None = None
    #: A folder that exists if agents were guarded on this machine; empty for none.
    sessions: str = ""
    #: Tell the agents in the queue whose turn has come, in the transaction that made it come.
    give_turns: Callable[[Store, Rows], object] | None = None
    #: Find the uncommitted changes that claims cover on this machine, and save copies if asked to.
    work: Callable[[Store, Sequence[WorkQuestion]], Mapping[ClaimKey, Work]] | None = None
    #: The caller's working tree; empty for none.
    tree: str = ""
    #: The state folder of this clone, if other clones use the same store.
    shared: str = ""


class Store:
    """One project's engine, with the settings that its rules need.

    ``archive`` is the folder for the ledger's monthly files; without one, old entries are dropped.
    """

    __slots__ = (
        "_waiter_ttl",
        "archive",
        "callbacks",
        "config",
        "engine",
        "fold_case",
        "trim_every",
    )

    def __init__(
        self,
        engine: Engine,
        config: Config,
        archive: str = "",
        callbacks: StoreCallbacks = StoreCallbacks(),  # noqa: B008 - a record, never changed
        waiter_ttl: float = WAITER_TTL,
    ) -> None:
        self._waiter_ttl = waiter_ttl
        self.engine = engine
        self.config = config
        self.archive = archive
        self.callbacks = callbacks
        self.fold_case = config.fold_case
        #: The number of entries after which the ledger's limit is checked.
        self.trim_every = max(1, min(config.ledger_limit // 20, 1_000))

    def ttl(self, given: object = None) -> float:
        """Return the requested ttl or the default; refuse one that the engine does not support."""
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
    def exists(self) -> bool:
        """Whether there is a store; if not, it reads as empty, and the first change creates it."""
        return getattr(self.engine, "exists", True)

    @property
    def waiter_ttl(self) -> float:
        """How long a waiter's heartbeat counts."""
        return max(self._waiter_ttl, self.engine.shortest_ttl)

    def apply(self, step: Callable[[Rows], T]) -> T:
        """Run ``step`` as one transaction; if it needs facts, look them up and run it again."""
        facts = self._facts()

        def run(txn: Txn) -> tuple[T, int]:
            return self._run(txn, step, facts)

        while True:
            try:
                answer, newest = self.engine.transact(run)
                break
            except _FactsNeededError:
                if facts.dead:
                    self._end_dead(facts)  # which may answer the questions
                else:
                    self._look_up(facts)
        if newest and newest % self.trim_every == 0:
            self._trim()
        return answer

    def _facts(self) -> OutsideFacts:
        sessions, work = self.callbacks.sessions, self.callbacks.work
        idle = self.config.idle_takeover
        return OutsideFacts(sessions, idle_takeover=idle, can_look=work is not None)

    def _run(self, txn: Txn, step: Callable[[Rows], T], facts: OutsideFacts) -> tuple[T, int]:
        try:
            rows = self._rows(txn, facts)
            answer = step(rows)
            if rows.turns and self.callbacks.give_turns is not None:
                self.callbacks.give_turns(self, rows)
            if facts.dead or facts.asked:
                raise _FactsNeededError
            rows.flush()
        except _MISREAD as error:
            _fail(txn, error)
        except DibsError as error:
            if facts.dead or facts.asked:
                raise _FactsNeededError from None
            _fail(txn, error)
        return answer, rows.newest

    def _rows(self, txn: Txn, facts: OutsideFacts) -> Rows:
        tree, shared = self.callbacks.tree, self.callbacks.shared
        return Rows(txn, fold_case=self.fold_case, facts=facts.begin(), tree=tree, shared=shared)

    def _end_dead(self, facts: OutsideFacts) -> None:
        """End agents with dead processes; one that cannot be ended keeps its claims until they expire."""
        facts.present |= facts.dead
        end_gone = self.callbacks.end_gone
        if facts.dead and end_gone is not None:
            try:
                end_gone(self._without_sessions(), facts.dead)
            except DibsError:
                return

    def _look_up(self, facts: OutsideFacts) -> None:
        """Look up what a step asked; what cannot be looked up is unknown."""
        found: Mapping[ClaimKey, Work] = {}
        if facts.asked and self.callbacks.work is not None:
            try:
                found = self.callbacks.work(self._without_sessions(), list(facts.asked.values()))
            except (DibsError, OSError):
                found = {}
        facts.learn(found)

    def _without_sessions(self) -> Store:
        """Return the same store, which checks no processes, for callbacks."""
        own = StoreCallbacks(give_turns=self.callbacks.give_turns, work=self.callbacks.work)
        return Store(self.engine, self.config, self.archive, own, self._waiter_ttl)

    def settle(self) -> None:
        """Handle the deadlines that have passed, so that readers see the outcome."""
        if self.callbacks.settle is not None:
            self.callbacks.settle(self)

    def _trim(self) -> None:
        """Limit the size of ledger, messages, and decisions; keep what cannot be archived yet."""
        from dibs.services.state.ledger import Ledger

        try:
            Ledger(self).trim()
            if self.callbacks.trim is not None:
                self.callbacks.trim(self)
        except (OSError, Unavailable, Unknown):
            return  # the change itself is complete, and its caller must learn that

    def now(self) -> float:
        """Return the time on the engine's clock."""
        return self.engine.view(lambda txn: txn.now)

    def look(self, step: Callable[[Rows], T]) -> T:
        """Run ``step``, which only reads, on a snapshot; if it needs facts, look them up and run it again."""
        facts = self._facts()

        def run(txn: Txn) -> T:
            try:
                return step(self._rows(txn, facts))
            except (DibsError, *_MISREAD) as error:
                _fail(txn, error)

        while True:
            try:
                answer = self.engine.view(run)
            except DibsError:
                if not facts.asked:
                    raise
            else:
                if not facts.asked:
                    return answer
            self._look_up(facts)


#: What code raises that meets a damaged row: a value of another type, or without a field.
_MISREAD = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError)


def _fail(txn: Txn, error: Exception) -> NoReturn:
    """Raise the error of a step; if it failed on a damaged row, raise one that names the row."""
    found = error
    if not isinstance(error, DibsError) or error.code == "STORE_DAMAGED":
        from dibs.services.state.damage import explained

        found = explained(txn, error)
    if found is error:
        raise error
    raise found from error


class _FactsNeededError(Exception):
    """Rolls back a transaction that needs facts from outside the store."""
