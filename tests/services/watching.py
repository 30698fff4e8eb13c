"""A crew with alerts; time passes only when a test says so."""

from tests.services.row_tasks import RowTasks
from tests.services.several_agents import Crew, caller
from tests.services.wired import deciding, wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Event, Kind
from dibs.services.alerts.service import Alerts
from dibs.services.claims.agents import Agents
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.ledger import Ledger
from dibs.services.tasks.values import Draft

HUMAN = caller("human")


class Watch(Crew):
    """One project, its agents, and its alerts; ``make`` opens another engine than that in memory."""

    def __init__(self, make=None, **settings):
        super().__init__(**settings)
        self.config = Config(**settings)
        if make is not None:
            self.reopen(make(self.clock))
        self.alerts = Alerts(self.store)
        self.decisions = deciding(self.store)
        self.tasks = RowTasks(self.store)

    def reopen(self, engine):
        self.engine = engine
        self.store = wired(engine, self.config)
        self.claims, self.holdings = Claims(self.store), Holdings(self.store)
        self.agents, self.ledger = Agents(self.store), Ledger(self.store)

    def join(self, agent, **options):
        self.agents.join(Agent(agent, **options))

    def beat(self, *agents):
        for agent in agents:
            self.agents.beat(caller(agent))

    def add_task(self, id_):
        self.tasks.create(HUMAN, [Draft({}, id=id_)])

    def emit(self, agent, kind, **details):
        event = Event(agent, "agent", kind, f"{agent}: {kind}", details)
        self.engine.transact(lambda txn: txn.emit(event))

    def check(self):
        """Run the rules, and return what opened and what was resolved, by kind."""
        done = self.alerts.check()
        return [one.kind for one in done.opened], [one.kind for one in done.resolved]

    def open(self, kind=""):
        return [one for one in self.alerts.all() if kind in {"", one.kind}]

    def opened(self, kind):
        entries = self.engine.view(lambda txn: list(txn.events(kinds=(Kind.ALERT_OPENED,))))
        return sum(entry.details["alert_kind"] == kind for entry in entries)
