"""Agents that share a store, each on its own machine."""

from __future__ import annotations

import pytest

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.patterns.pattern import parse
from dibs.errors import Fenced
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store


class Agent:
    """An agent with its own handle on the store."""

    def __init__(self, name, engine):
        self.caller = Caller(name)
        self.engine = engine
        store = Store(engine, Config())
        self.claims, self.holdings = Claims(store), Holdings(store)

    def claim(self, path="src/a.py"):
        return self.claims.claim(self.caller, [parse(path)])

    def release(self, token, path="src/a.py"):
        return self.holdings.release(self.caller, [parse(path)], token=token)

    def newest(self):
        return self.engine.view(lambda txn: next(txn.events(newest_first=True)))


def reasons(someone):
    """Return why new lives started, according to the ledger."""
    entries = someone.engine.view(lambda txn: list(txn.events()))
    return [entry.details["why"] for entry in entries if entry.kind == Kind.LEDGER_RESTARTED]


def assert_fenced(holder, token, path="src/a.py"):
    with pytest.raises(Fenced):
        holder.release(token, path)
