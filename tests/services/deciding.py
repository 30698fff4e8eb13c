"""A crew with decisions."""

from tests.services.several_agents import Crew, caller
from tests.services.wired import deciding, settle, wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent, Caller
from dibs.services.state.mailbox import messages


class Court(Crew):
    """A crew with shortcuts for decisions."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.decisions = deciding(self.store)

    def reopen(self, engine):
        """Continue with another handle on the store, like another process."""
        self.engine = engine
        self.store = wired(engine, Config())
        self.decisions = deciding(self.store)

    def join(self, agent, role="agent", parent=""):
        self.agents.join(Agent(agent, role=role, parent=parent), Caller(agent, role))

    def ask(self, agent, title="use httpx", **options):
        return self.decisions.new(caller(agent), title, confirm=True, **options)

    def settle(self):
        return settle(self.store)

    def told(self, box):
        """Return the messages in a box."""
        found = self.store.look(lambda rows: list(messages(rows)))
        return [message.text for message in found if box in message.boxes]

    def made(self):
        """Return the outcomes in the ledger."""
        entries = self.engine.view(lambda txn: list(txn.events()))
        return [e.details["outcome"] for e in entries if e.kind == "decision_made"]
