"""The store of a project, with callbacks to services above it, each imported when needed."""

from __future__ import annotations

import os

from dibs.local.repository import SESSIONS
from dibs.services.state.store import Store, StoreCallbacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.config.load import Config
    from dibs.core.claims.agents import Caller
    from dibs.core.talk.decisions import Decision
    from dibs.engines.base import Engine
    from dibs.local.repository import Repository
    from dibs.services.state.facts import ClaimKey, Work, WorkQuestion
    from dibs.services.state.rows import Rows


def open_store(engine: Engine, config: Config, repository: Repository) -> Store:
    """Return the store of a project."""

    def end_gone(store: Store, agents: set[str]) -> None:
        from dibs.services.guard.departures import Departures

        Departures(store, repository).gone(agents)

    def work(store: Store, questions: Sequence[WorkQuestion]) -> Mapping[ClaimKey, Work]:
        from dibs.services.guard.uncommitted.claimed_work import find_work

        return find_work(store, repository, questions)

    state = repository.state
    sessions = os.path.join(state, SESSIONS)
    shared = state if config.engine else ""
    callbacks = StoreCallbacks(
        trim, settle, end_gone, sessions, give_turns, work, repository.root, shared
    )
    return Store(engine, config, os.path.join(state, "ledger"), callbacks)


def trim(store: Store) -> None:
    """Delete old messages and decisions."""
    from dibs.services.retention import trim

    trim(store)


def give_turns(store: Store, rows: Rows) -> None:
    """Tell the agents in the queue whose turn has come; usually no one waits."""
    if rows.is_anyone_waiting():
        from dibs.services.claims.turns import give_turns

        give_turns(rows, store.waiter_ttl)


def settle(store: Store) -> None:
    """Handle due deadlines; usually that is one read."""
    from dibs.services.state.deadlines import is_anything_due

    if store.look(is_anything_due):
        from dibs.services.claims.due import settle

        settle(store)


def carry_out(
    rows: Rows, caller: Caller, decision: Decision, confirmed: bool, reason: str
) -> Decision:
    """Carry out a human's decision in a conflict of claims."""
    from dibs.services.claims.escalation import carry_out

    return carry_out(rows, caller, decision, confirmed, reason)
