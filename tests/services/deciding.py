"""A crew with decisions, under a policy from the project's file."""

from tests.services.several_agents import Crew, caller
from tests.services.wired import deciding, settle, wired

from dibs.config.load import Config, Loaded
from dibs.core.claims.agents import Agent, Caller
from dibs.services.state.mailbox import messages

FILE = {"decide_allow": "dibs.toml:3"}


class Court(Crew):
    """A crew with shortcuts for decisions; ``written`` are settings in the project's file."""

    def __init__(self, **written):
        super().__init__()
        self.written = Loaded(Config(**written), FILE)
        self.decisions = deciding(self.store, self.written)

    def reopen(self, engine):
        """Continue with another handle on the store, like another process."""
        self.engine = engine
        self.store = wired(engine, Config())
        self.decisions = deciding(self.store, self.written)

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

    def deadlines(self):
        return [key for key, _ in self.rows() if key.startswith("due/")]
