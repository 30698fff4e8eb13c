"""A store as a project opens it, but for the processes of agents; and what settles its deadlines."""

from dibs.project import store as project_store
from dibs.services.claims.due import HANDLERS
from dibs.services.state import deadlines
from dibs.services.state.store import WAITER_TTL, Store, StoreCallbacks
from dibs.services.talk.decisions import Decisions


def wired(engine, config, archive="", waiter_ttl=WAITER_TTL):
    callbacks = StoreCallbacks(
        project_store.trim, project_store.settle, give_turns=project_store.give_turns
    )
    return Store(engine, config, archive, callbacks, waiter_ttl)


def settle(store):
    """Carry out the deadlines that have passed; return how many those were."""
    return deadlines.settle(store, HANDLERS)


def deciding(store):
    return Decisions(store, project_store.carry_out)
