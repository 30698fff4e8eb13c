"""Every kind of alert opens once on its condition, not just below the threshold, and ends by itself."""

import shlex

import pytest
from tests.services.several_agents import caller
from tests.services.watching import HUMAN, Watch

from dibs.cli.support import COMMANDS
from dibs.core.alerts.kinds import ALERT_KINDS
from dibs.core.claims.ledger import Kind
from dibs.engines.sqlite.engine import SqliteEngine


@pytest.fixture(params=["memory", "sqlite"])
def watch(request, tmp_path):
    opened = []

    def make(clock):
        opened.append(SqliteEngine(str(tmp_path / "state.db"), clock=clock))
        return opened[0]

    yield Watch(make if request.param == "sqlite" else None)
    for engine in opened:
        engine.close()


class Story:
    """How the condition of one kind comes, almost comes, and ends."""

    def __init__(self, watch):
        self.watch = watch

    def almost(self):
        """Come as close to the condition as possible."""

    def cross(self):
        """Let the condition begin."""

    def end(self):
        """Let it end."""


class Stuck(Story):
    def almost(self):
        self.watch.join("alice")
        self.watch.clock.advance(599)

    def cross(self):
        self.watch.clock.advance(600)

    def end(self):
        self.watch.beat("alice")


class Context(Story):
    def report(self, share):
        self.watch.agents.report(caller("alice"), context=share)

    def almost(self):
        self.report(0.85)

    def cross(self):
        self.report(0.851)

    def end(self):
        self.report(0.3)


class Edits(Story):
    def almost(self):
        self.watch.emit("alice", Kind.FILE_EDIT, paths=["a.py"], count=1)
        self.watch.emit("bob", Kind.FILE_EDIT, paths=["b.py"], count=1)

    def cross(self):
        self.watch.emit("alice", Kind.FILE_EDIT, paths=["a.py"], count=1)
        self.watch.emit("bob", Kind.FILE_EDIT, paths=["a.py", "c.py"], count=2)

    def end(self):
        self.watch.emit("bob", Kind.COMMITTED, paths=["a.py"])


class Idle(Story):
    def almost(self):
        self.watch.join("alice")
        self.watch.add_task("t1")
        self.watch.clock.advance(59)

    def cross(self):
        self.watch.beat("alice")
        self.watch.clock.advance(60)

    def end(self):
        self.watch.beat("alice")


class Decision(Story):
    def almost(self):
        self.decision = self.watch.decisions.new(caller("alice"), "use httpx", confirm=True)
        self.watch.clock.advance(599)

    def cross(self):
        self.end()
        self.decision = self.watch.decisions.new(caller("alice"), "use httpx", confirm=True)
        self.watch.clock.advance(600)

    def end(self):
        for decision in self.watch.decisions.all(pending=True):
            self.watch.decisions.confirm(HUMAN, decision.id)


class Unused(Story):
    def almost(self):
        self.watch.claim("alice", "a.py", ttl=86_400)
        self.watch.clock.advance(1_799)

    def cross(self):
        self.watch.claim("alice", "a.py", ttl=86_400)
        self.watch.clock.advance(1_800)

    def end(self):
        self.watch.release("alice", "a.py")


class Unguarded(Story):
    def almost(self):
        self.watch.join("alice")

    def cross(self):
        self.watch.join("alice")
        self.watch.emit("alice", Kind.COMMITTED, paths=["a.py"])

    def end(self):
        self.watch.agents.leave(caller("alice"))


STORIES = {
    "stuck_agent": Stuck,
    "context_pressure": Context,
    "duplicate_file_edit": Edits,
    "idle_agents_ready_tasks": Idle,
    "stale_decision": Decision,
    "stale_claim": Unused,
    "unguarded_agent": Unguarded,
}


def test_every_kind_has_a_story():
    assert set(STORIES) == set(ALERT_KINDS)


@pytest.mark.parametrize("kind", STORIES)
def test_it_opens_once_ends_by_itself_and_opens_again(watch, kind):
    story = STORIES[kind](watch)
    story.almost()
    assert kind not in watch.check()[0], "below the threshold"
    story.cross()
    assert watch.check()[0].count(kind) == 1
    assert kind not in watch.check()[0], "each condition has one alert"
    (alert,) = watch.open(kind)
    assert alert.severity in {"info", "warning", "critical"}
    words = shlex.split(alert.command)
    assert words[0] == "dibs"
    assert words[1] in COMMANDS

    story.end()
    assert watch.check()[1].count(kind) == 1
    assert watch.open(kind) == []
    story.cross()
    assert watch.check()[0].count(kind) == 1
    assert watch.opened(kind) == 2


@pytest.mark.parametrize("kind", STORIES)
def test_a_kind_can_be_off(kind):
    watch = Watch(alerts_off=(kind,))
    story = STORIES[kind](watch)
    story.almost()
    story.cross()

    assert kind not in watch.check()[0]
