"""Keeping claims alive: heartbeats, losses, and an unreachable store."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dibs.cli.support.hold import RunClaims, certain_hold
from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.errors import Unavailable
from dibs.project.location import locate
from dibs.project.project import Project
from dibs.testing import ManualClock

ALICE, BOB, HUMAN = Caller("alice"), Caller("bob"), Caller("jo", "human")
TTL = 30.0


class Flaky:
    """An engine that can be cut off."""

    def __init__(self, engine):
        self._engine = engine
        self.cut = False

    def __getattr__(self, name):
        if self.cut:
            raise Unavailable("the store is gone")
        return getattr(self._engine, name)


@pytest.fixture
def clock():
    return ManualClock(1_000_000.0)


@pytest.fixture
def project(repo, clock):
    return Project(locate(), Flaky(MemoryEngine(clock=clock)))


@pytest.fixture
def keep(project, clock):
    """Claim for alice, and keep it."""

    def begin(*texts):
        patterns = [project.tree.resolve(text) for text in texts]
        granted = project.claims.claim(ALICE, patterns, ttl=TTL) if texts else None
        session = SimpleNamespace(project=project, caller=ALICE)
        keeper = RunClaims(session, TTL, granted.claims if granted else (), monotonic=clock)
        keeper.keep()
        return keeper

    return begin


def holders(project):
    return {held.claim.pattern: held.claim.agent for held in project.claims.all()[0]}


def test_a_claim_lives_as_long_as_it_is_renewed(keep, project, clock):
    keeper = keep("a")

    for _ in range(200):
        clock.now += keeper.pause()
        keeper.keep()
        assert keeper.lost == []

    assert clock.now > 1_000_000 + 2 * TTL
    assert holders(project) == {"a": "alice"}


def test_the_setting_says_how_often_a_heartbeat_is_sent(project, keep, clock):
    project.config = project.config._replace(heartbeat=5.0)
    keeper, seen = keep("a"), []

    while clock.now < 1_000_000 + 15:
        clock.now += keeper.pause()
        keeper.keep()
        seen.append(project.agents.show("alice")[0].last_seen - 1_000_000)

    assert sorted(set(seen)) == [0, 5, 10, 15]


def test_nothing_is_written_between_heartbeats(keep, project, clock):
    keeper = keep("a")
    before = project.agents.show("alice")[0].last_seen

    clock.now += TTL / 3 - 0.5
    keeper.keep()

    assert project.agents.show("alice")[0].last_seen == before


def test_a_revoked_claim_is_lost_at_the_next_check(keep, project, clock):
    keeper = keep("a", "b")
    project.holdings.revoke(HUMAN, project.tree.resolve("a"), reason="mine")

    clock.now += 1
    keeper.keep()

    assert [(lost.pattern, lost.why, lost.by) for lost in keeper.lost] == [("a", "revoked", "jo")]


def test_a_loss_is_reported_once_and_the_agent_is_still_notified(keep, project, clock):
    keeper = keep("a")
    project.holdings.revoke(HUMAN, project.tree.resolve("a"), reason="mine")
    clock.now += 1
    keeper.keep()

    clock.now += 1
    keeper.keep()

    assert keeper.lost == []
    assert [lost.pattern for lost in project.holdings.renew(ALICE).lost] == ["a"]


def test_a_pause_past_the_ttl_loses_the_claim(keep, project, clock):
    keeper = keep("a")

    clock.now += TTL
    keeper.keep()

    assert [(lost.pattern, lost.why) for lost in keeper.lost] == [("a", "expired")]


@pytest.fixture
def short_hold(monkeypatch):
    monkeypatch.setenv("DIBS_MAX_HOLD", "65")


def test_a_claim_that_reached_its_hard_limit_is_lost(short_hold, keep, project, clock):
    keeper = keep("a")
    lost = []

    while clock.now < 1_000_000 + 65 + TTL and not lost:
        clock.now += keeper.pause() or 1
        keeper.keep()
        lost += keeper.lost

    assert [item.why for item in lost] == ["expired"]
    assert clock.now >= 1_000_000 + 65


def test_a_claim_made_again_by_the_command_continues(keep, project, clock):
    keeper = keep("a")
    project.holdings.release(ALICE)
    project.claims.claim(ALICE, [project.tree.resolve("a")], ttl=TTL)

    clock.now += 1
    keeper.keep()

    assert keeper.lost == []


def test_an_agent_that_left_is_not_revived(keep, project, clock):
    keeper = keep("a")
    project.agents.leave(ALICE)

    for _ in range(40):
        clock.now += 1
        keeper.keep()
        assert keeper.lost == []

    assert project.agents.show("alice")[0].agent.status == "exited"


def test_with_an_unreachable_store_the_claim_is_lost_before_anyone_can_have_it(
    keep, project, clock
):
    keeper = keep("a")
    last_beat = clock.now
    project.engine.cut = True

    while not keeper.lost:
        clock.now += max(keeper.pause(), 0.01)
        keeper.keep()

    assert last_beat + certain_hold(TTL) <= clock.now < last_beat + TTL
    assert [lost.why for lost in keeper.lost] == ["is no longer certain"]
    project.engine.cut = False
    assert holders(project) == {"a": "alice"}


def test_a_store_that_comes_back_in_time_loses_nothing(keep, project, clock):
    keeper = keep("a")
    project.engine.cut = True
    while clock.now < 1_000_000 + TTL / 2:
        clock.now += max(keeper.pause(), 0.01)
        keeper.keep()

    project.engine.cut = False
    for _ in range(200):
        clock.now += max(keeper.pause(), 0.01)
        keeper.keep()
        assert keeper.lost == []

    assert holders(project) == {"a": "alice"}


def test_the_safe_period_allows_for_clocks_that_differ():
    assert certain_hold(5) == pytest.approx(4.5)
    assert certain_hold(300) == pytest.approx(270)


def test_each_release_request_is_passed_on_once(keep, project, clock):
    keeper = keep("a")
    project.holdings.ask(BOB, [project.tree.resolve("a")], note="soon")

    clock.now += 1
    keeper.keep()
    first = keeper.asks
    clock.now += TTL / 2
    keeper.keep()

    assert [ask.note for ask in first] == ["soon"]
    assert keeper.asks == []


def test_without_claims_the_agent_is_kept_alive(keep, project, clock):
    keeper = keep()

    clock.now += TTL / 3
    keeper.keep()

    assert project.agents.show("alice")[0].last_seen == clock.now


def test_a_released_claim_is_not_lost(keep, project, clock):
    keeper = keep("a")
    project.holdings.release(ALICE)

    clock.now += TTL
    keeper.keep()

    assert keeper.lost == []
