"""Simulate a crew's day with the real services and a manual clock.

Two leads and eighteen specialists work through a board for eight hours. They take tasks, claim files, commit,
release, send messages, request decisions, wait, leave, and are replaced. Occasionally a context is compacted.
The same seed produces the same day.
"""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING

from dibs.config.load import Config
from dibs.core.claims.agents import Agent, Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.memory import MemoryEngine
from dibs.errors import DibsError
from dibs.project.store import carry_out, settle, trim
from dibs.services.board.tasks import Tasks
from dibs.services.briefing.service import Briefings
from dibs.services.claims.agents import Agents
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.ledger import Ledger
from dibs.services.state.store import Store, StoreCallbacks
from dibs.services.talk.decisions import Decisions
from dibs.services.talk.mail import Mail
from dibs.services.tasks.values import Draft, TakenTask
from dibs.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.core.patterns.pattern import Pattern

SEED = 20_260_102
HOURS = 8
LEADS = ("lead-1", "lead-2")
HUMAN = Caller("ann", "human")
ROLES = ("Developer", "Developer", "Developer", "QA Tester", "Code Reviewer", "Technical Writer")
SPECIALISTS = 18
#: Reasons to refresh: agents join and leave, claims change.
SIGNIFICANT = frozenset({
    Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED, Kind.AGENT_EXITED, Kind.AGENT_TERMINATED, Kind.LOCK_ACQUIRED,
    Kind.LOCK_RELEASED, Kind.LOCK_EXPIRED, Kind.LOCK_REVOKED, Kind.LOCK_TRANSFERRED,
})  # fmt: skip
#: Events within this many seconds cause one refresh.
DEBOUNCE = 2.0
_DOING = ("Implement", "Test", "Review", "Document", "Debug", "Simplify", "Measure", "Rename")
_WHAT = (
    "login", "sessions", "billing", "search", "the export", "the import", "the parser", "reports",
    "the cache", "the queue", "webhooks", "the scheduler", "permissions", "the audit log", "uploads",
    "the mailer",
)  # fmt: skip
_SAID = (
    "the fixture for this is in place now, please rebase before you go on",
    "I found a race in the retry loop; the test that shows it is on my branch",
    "which of the two formats do we keep? I would take the shorter one",
    "done with my part of this, the files are yours",
    "please look at the naming before I go on with the second half",
)


class Day:
    """The crew, its clock, and its scheduled actions."""

    def __init__(self, hours: float = HOURS) -> None:
        self.clock = ManualClock(1_700_000_000.0)
        self.random = random.Random(SEED)
        engine, config = MemoryEngine(self.clock), Config(ttl=3600.0)
        self.store = Store(engine, config, callbacks=StoreCallbacks(trim, settle))
        self.agents, self.tasks = Agents(self.store), Tasks(self.store)
        self.claims, self.holdings = Claims(self.store), Holdings(self.store)
        self.mail, self.briefings = Mail(self.store), Briefings(self.store)
        self.decisions = Decisions(self.store, carry_out)
        self.end = self.clock.now + hours * 3600
        #: Scheduled actions: time, a number that keeps the order, action.
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self.compacted: list[Caller] = []
        self._seen = 0
        self._held: dict[str, list[Pattern]] = {}

    # -- the crew

    @property
    def crew(self) -> list[Caller]:
        """All working agents, without the human, who is not briefed."""
        here = [seen.agent for seen in self.agents.all(ended=False)]
        return [Caller(agent.id, agent.role) for agent in here if agent.id != HUMAN.id]

    def begin(self) -> None:
        """Let all agents join, and fill the board."""
        for name in LEADS:
            self.agents.join(Agent(name, role="Project Lead", model="claude-opus"))
        self._make(60)
        for number in range(SPECIALISTS):
            self._soon(self.random.uniform(1, 900), lambda n=number: self._arrive(n))
        for name in LEADS:
            self._soon(600, lambda n=name: self._lead(n))

    def moments(self) -> Iterator[list[Caller]]:
        """Run the day; at each refresh, yield the agents whose context was compacted before it."""
        refresh = 0.0
        while self._coming and self._coming[0][0] < self.end:
            at, _, action = heapq.heappop(self._coming)
            if refresh and refresh <= at:
                self.clock.now, refresh = refresh, 0.0
                compacted, self.compacted = self.compacted, []
                yield compacted
            self.clock.now = max(self.clock.now, at)
            action()
            if self._is_significant() or self.compacted:
                refresh = self.clock.now + DEBOUNCE

    def _is_significant(self) -> bool:
        """Return whether the new ledger entries are a reason to refresh."""
        fresh, _ = Ledger(self.store).after(self._seen)
        self._seen = fresh[-1].seq if fresh else self._seen
        return any(entry.kind in SIGNIFICANT for entry in fresh)

    def _soon(self, seconds: float, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._coming, (self.clock.now + seconds, self._number, action))

    # -- actions

    def _make(self, count: int) -> None:
        titles = [f"{self.random.choice(_DOING)} {self.random.choice(_WHAT)}" for _ in range(count)]
        self.tasks.create(Caller(LEADS[0]), [Draft(fields={"title": title}) for title in titles])

    def _arrive(self, number: int) -> None:
        role = ROLES[number % len(ROLES)]
        name = f"{role.split()[-1].lower()}-{number}"
        self.agents.join(Agent(name, role=role, parent=LEADS[number % 2], model="claude-sonnet"))
        me = Caller(name, role)
        self._soon(self.random.uniform(5, 60), lambda: self._begin_task(me))
        self._soon(self.random.expovariate(1 / 5400), lambda: self._compact(me))

    def _begin_task(self, me: Caller) -> None:
        taken = self.tasks.take(me)
        if not isinstance(taken, TakenTask):
            self.agents.report(me, status="idle", task="")
            self._soon(self.random.expovariate(1 / 600), lambda: self._begin_task(me))
            return
        task = taken.stored.task
        self.agents.report(me, status="running", task=task.title, context=self.random.random())
        self._soon(self.random.uniform(20, 120), lambda: self._claim(me, task.id, task.title, 3))

    def _claim(self, me: Caller, task: str, title: str, rounds: int) -> None:
        area = title.rpartition(" ")[2]
        files = [f"src/{area}/module_{self.random.randrange(30)}.py" for _ in range(2)]
        files.append(f"tests/{area}/test_{self.random.randrange(30)}.py")
        wanted = [parse(file) for file in dict.fromkeys(files)]
        answer = self.claims.claim(me, wanted, reason=title)
        if not isinstance(answer, Granted):
            self.holdings.ask(me, [parse(answer.conflicts[0].pattern)], note=title)
            self._soon(self.random.uniform(60, 300), lambda: self._claim(me, task, title, rounds))
            return
        self._held[me.id] = wanted
        self._soon(
            self.random.expovariate(1 / 420), lambda: self._commit(me, task, title, rounds - 1)
        )

    def _commit(self, me: Caller, task: str, title: str, rounds: int) -> None:
        said = f"{me.id} committed {self.random.randrange(1, 5)} files: {title}"
        self.store.apply(lambda rows: rows.emit(me.id, me.role, Kind.COMMITTED, said))
        self.holdings.release(me, self._held.pop(me.id))
        if self.random.random() < 0.3:
            whom = self.random.choice([c.id for c in self.crew if c.id != me.id])
            self._try(lambda: self.mail.say(me, whom, self.random.choice(_SAID)))
        if rounds:
            self._soon(self.random.uniform(60, 400), lambda: self._claim(me, task, title, rounds))
            return
        self.tasks.done(me, task, summary=f"{title}: done, tests pass")
        self.agents.report(me, status="idle", task="")
        if self.random.random() < 0.3:
            self._ask(me, title)
        if self.random.random() < 0.1:
            self._leave(me)
        else:
            self._soon(self.random.expovariate(1 / 300), lambda: self._begin_task(me))

    def _ask(self, me: Caller, title: str) -> None:
        """Request a decision; the human takes a while."""
        asked = self.decisions.new(me, f"{title} in two steps", confirm=True)
        self._soon(
            self.random.expovariate(1 / 900), lambda: self.decisions.confirm(HUMAN, asked.id)
        )

    def _leave(self, me: Caller) -> None:
        """Leave, and schedule a replacement."""
        self.agents.leave(me)
        number = int(me.id.rpartition("-")[2]) + SPECIALISTS
        self._soon(self.random.uniform(30, 300), lambda: self._arrive(number))

    def _lead(self, name: str) -> None:
        me = Caller(name, "Project Lead")
        self._make(self.random.randrange(2, 6))
        if self.random.random() < 0.3:
            self._try(lambda: self.mail.say(me, "all", self.random.choice(_SAID)))
        self._soon(self.random.uniform(600, 1800), lambda: self._lead(name))

    def _compact(self, me: Caller) -> None:
        if me not in self.crew:
            return
        self.compacted.append(me)
        self._soon(self.random.expovariate(1 / 5400), lambda: self._compact(me))

    @staticmethod
    def _try(action: Callable[[], object]) -> None:
        """Run an action that may be refused, for example because an inbox is full."""
        try:
            action()
        except DibsError as refused:
            print(f"refused: {refused}")
