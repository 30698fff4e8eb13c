"""A crew on the memory engine, with a clock that only the test moves."""

from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.memory import MemoryEngine
from dibs.services.claims.agents import Agents
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.ledger import Ledger, Query
from dibs.services.state.store import WAITER_TTL
from dibs.testing import ManualClock


class Crew:
    """The services of one project, and shortcuts for tests."""

    def __init__(self, archive="", waiter_ttl=WAITER_TTL, **settings):
        self.clock = ManualClock(1_000_000.0)
        self.engine = MemoryEngine(self.clock)
        self.store = wired(self.engine, Config(**settings), archive, waiter_ttl)
        self.claims = Claims(self.store)
        self.holdings = Holdings(self.store)
        self.agents = Agents(self.store)
        self.ledger = Ledger(self.store)

    def claim(self, agent, *patterns, **options):
        return self.claims.claim(caller(agent), [parse(p) for p in patterns], **options)

    def renew(self, agent, *patterns, **options):
        return self.holdings.renew(caller(agent), [parse(p) for p in patterns], **options)

    def release(self, agent, *patterns, **options):
        return self.holdings.release(caller(agent), [parse(p) for p in patterns], **options)

    def transfer(self, agent, *patterns, **options):
        return self.holdings.transfer(caller(agent), [parse(p) for p in patterns], **options)

    def ask(self, agent, *patterns, **options):
        return self.holdings.ask(caller(agent), [parse(p) for p in patterns], **options)

    def revoke(self, agent, pattern, reason="it must go"):
        return self.holdings.revoke(caller(agent), parse(pattern), reason=reason)

    def held(self):
        return {(h.claim.agent, h.claim.pattern) for h in self.claims.all()[0]}

    def waiting(self):
        return [w.ticket.agent for w in self.claims.all()[1]]

    def kinds(self):
        return [entry.kind for entry in self.ledger.newest(Query(), 10_000)]

    def rows(self):
        from dibs.core.patterns.filing import Range

        return self.engine.view(lambda txn: list(txn.scan(Range(""))))


def caller(agent):
    return Caller(agent, "human" if agent == "human" else "agent")
