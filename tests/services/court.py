"""A crew with release requests, escalations, and a human who decides."""

from tests.services.several_agents import Crew, caller
from tests.services.wired import deciding, wired

from dibs.config.load import Config
from dibs.core.patterns.pattern import parse
from dibs.core.talk.decisions import Outcome
from dibs.services.claims.answers import Answers
from dibs.services.claims.disputes import both_sides
from dibs.services.claims.escalation import Escalations
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state import mailbox
from dibs.services.state.decisions import decisions
from dibs.services.state.ledger import Ledger
from dibs.services.state.store import WAITER_TTL


class Court(Crew):
    """A crew whose conflicts can be escalated; on the memory engine unless another is given."""

    def __init__(self, engine=None, waiter_ttl=WAITER_TTL, **settings):
        super().__init__(waiter_ttl=waiter_ttl, **settings)
        config = Config(**settings)
        if engine is not None:
            self.engine = engine
            self.store = wired(engine, config, waiter_ttl=waiter_ttl)
            self.claims = Claims(self.store)
            self.holdings = Holdings(self.store)
            self.ledger = Ledger(self.store)
        self.answers = Answers(self.store)
        self.escalations = Escalations(self.store)
        self.decisions = deciding(self.store)

    def answer(self, agent, said, pattern="", **options):
        wanted = parse(pattern) if pattern else None
        return self.answers.answer(caller(agent), said, pattern=wanted, **options)

    def escalate(self, agent, *patterns, **options):
        return self.escalations.escalate(caller(agent), [parse(p) for p in patterns], **options)

    def decide(self, decision, outcome, reason="because", human="human"):
        return self.decisions.decide(caller(human), [decision.id], outcome, reason)[0]

    def take(self, decision, reason="because", human="human"):
        return self.decide(decision, Outcome.CONFIRMED, reason, human)

    def refuse(self, decision, reason="because", human="human"):
        return self.decide(decision, Outcome.REJECTED, reason, human)

    def sides(self, decision):
        return both_sides(self.store, decision)

    def asks(self, holder=""):
        return self.store.look(lambda rows: [ask for _, ask in rows.asks(holder)])

    def all_decisions(self):
        return self.store.look(lambda rows: list(decisions(rows)))

    def mail(self, box, kind=""):
        """Return an inbox's messages, the oldest first."""
        found = self.store.look(lambda rows: list(mailbox.messages(rows)))
        return [m for m in found if box in m.boxes and kind in {"", m.kind}]
