"""A guarded repository: real git, an engine with a clock of the test's own, agents that call hooks."""

import os
import subprocess

from tests.services.several_agents import caller

from dibs.config.load import Config
from dibs.core.patterns.pattern import parse
from dibs.core.toolcalls.values import EventKind, HookEvent, How, Touch
from dibs.engines.memory import MemoryEngine
from dibs.local.processes import running
from dibs.local.repository import find
from dibs.project.store import open_store
from dibs.services.claims.agents import Agents
from dibs.services.claims.service import Claims
from dibs.services.guard.departures import Departures
from dibs.services.guard.service import Guarding
from dibs.services.state.ledger import Ledger, Query
from dibs.testing import ManualClock

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false")


class Guarded:
    """One repository and its guard; sessions are named by a word."""

    def __init__(self, root, engine=None, repository=None, **settings):
        self.root = str(root)
        os.makedirs(self.root, exist_ok=True)
        if not os.path.exists(f"{self.root}/.git"):
            self.git("init", "-q", "-b", "main")
            self.write("README.md", "read me")
            self.commit()
        self.repository = repository or find(self.root, {})
        os.makedirs(self.repository.state, exist_ok=True)
        self.clock = ManualClock(1_000_000.0)
        self.engine = engine or MemoryEngine(self.clock)
        self.store = open_store(self.engine, Config(**settings), self.repository)
        self.guarding = Guarding(self.store, self.repository)
        self.departures = Departures(self.store, self.repository)
        self.claims = Claims(self.store)
        self.agents = Agents(self.store)
        #: The process of each session; this one where nothing else is said.
        self.processes = {}
        self.named = {}

    def git(self, *words):
        ran = subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True)
        return ran.stdout.decode().strip()

    def write(self, path, text="text"):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "step")

    def hear(self, session, moment, *touches, tells=True, **fields):
        touches = tuple(Touch(one) if isinstance(one, str) else one for one in touches)
        heard = HookEvent("claude", moment, session, touches=touches, cwd=self.root)
        process = self.processes.get(session) or running(os.getpid())
        environ = {"DIBS_AGENT": self.named.get(session, "")}
        return self.guarding.hear(heard._replace(**fields), process, environ, tells=tells)

    def start(self, session, **fields):
        return self.hear(session, EventKind.STARTED, **fields)

    def edit(self, session, *paths, **fields):
        return self.hear(session, EventKind.BEFORE, *paths, tool="Write", **fields)

    def read(self, session, *paths):
        return self.hear(session, EventKind.BEFORE, *(Touch(path, How.READ) for path in paths))

    def shell(self, session, command, **fields):
        return self.hear(session, EventKind.BEFORE, command=command, tool="Bash", **fields)

    def stop(self, session, **fields):
        return self.hear(session, EventKind.STOPPED, **fields)

    def end(self, session, **fields):
        return self.hear(session, EventKind.ENDED, **fields)

    def claim(self, agent, *patterns, **options):
        return self.claims.claim(caller(agent), [parse(p) for p in patterns], **options)

    def held(self):
        return {(h.claim.agent, h.claim.pattern) for h in self.claims.all()[0]}

    def waiting(self):
        return [w.ticket.agent for w in self.claims.all()[1]]

    def kinds(self):
        return [entry.kind for entry in Ledger(self.store).newest(Query(), 10_000)]

    def status(self, agent):
        return self.agents.show(agent)[0].agent.status

    def ids(self):
        return [seen.agent.id for seen in self.agents.all()]
