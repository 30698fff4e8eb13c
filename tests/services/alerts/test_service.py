"""Alerts: each opens once, is resolved when its condition ends, and opens again if that returns."""

import threading

import pytest
from tests.services.several_agents import caller
from tests.services.watching import HUMAN, Watch
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.alerts.values import RING, AlertState
from dibs.errors import BadInput, NotFound
from dibs.services.alerts.service import Alerts


@pytest.fixture
def watch():
    return Watch()


class TestStuckAgent:
    def test_it_opens_after_ten_minutes_and_ends_with_the_next_activity(self, watch):
        watch.join("alice")
        watch.clock.advance(599)
        assert watch.check() == ([], [])

        watch.clock.advance(1)
        assert watch.check() == (["stuck_agent"], [])
        assert watch.check() == ([], [])

        watch.agents.beat(caller("alice"))
        assert watch.check() == ([], ["stuck_agent"])
        watch.clock.advance(600)
        assert watch.check() == (["stuck_agent"], [])

    def test_an_agent_that_reports_idle_is_not_stuck(self, watch):
        watch.join("alice")
        watch.agents.report(caller("alice"), status="idle")
        watch.clock.advance(3_000)

        assert watch.check() == ([], [])


class TestStates:
    def test_acknowledged_stays_until_the_condition_ends(self, watch):
        asked = watch.decisions.new(caller("alice"), "use httpx", confirm=True)
        watch.clock.advance(600)
        watch.check()
        (alert,) = watch.open("stale_decision")

        watch.alerts.acknowledge(HUMAN, [alert.id], "looking")
        assert watch.check() == ([], [])
        (known,) = watch.open("stale_decision")
        assert (known.state, known.by, known.reason) == (
            AlertState.ACKNOWLEDGED,
            "human",
            "looking",
        )

        watch.decisions.confirm(HUMAN, asked.id)
        assert watch.check() == ([], ["stale_decision"])
        assert watch.alerts.show(alert.id).state == AlertState.RESOLVED

    def test_a_resolved_alert_cannot_be_acknowledged(self, watch):
        watch.join("alice")
        watch.clock.advance(600)
        watch.check()
        (alert,) = watch.open()
        watch.beat("alice")
        watch.check()

        with pytest.raises(BadInput) as refused:
            watch.alerts.acknowledge(HUMAN, [alert.id])
        assert refused.value.code == "ALERT_RESOLVED"

    def test_an_unknown_alert_is_refused_and_nothing_changes(self, watch):
        watch.join("alice")
        watch.clock.advance(600)
        watch.check()
        (alert,) = watch.open()

        with pytest.raises(NotFound):
            watch.alerts.acknowledge(HUMAN, [alert.id, "a999"])
        with pytest.raises(BadInput):
            watch.alerts.show("d1")
        assert watch.open()[0].state == AlertState.OPEN


def test_two_pending_decisions_of_one_agent_are_two_alerts(watch):
    for title in ("use httpx", "use tabs"):
        watch.decisions.new(caller("alice"), title, confirm=True)
    watch.clock.advance(600)

    assert watch.check()[0].count("stale_decision") == 2


def test_context_that_grows_is_one_alert_which_opens_again_when_it_becomes_critical(watch):
    watch.join("alice")

    def report(share):
        watch.agents.report(caller("alice"), context=share)
        return watch.check()

    assert report(0.85) == ([], [])
    assert report(0.86) == (["context_pressure"], [])
    (alert,) = watch.open()
    watch.alerts.acknowledge(HUMAN, [alert.id])
    assert report(0.96) == ([], [])
    (raised,) = watch.open()
    assert (raised.id, raised.severity, raised.state) == (alert.id, "critical", "open")
    assert report(0.93) == ([], [])
    assert watch.open()[0].severity == "critical"
    assert report(0.82) == ([], [])
    assert watch.open()[0].severity == "warning"
    assert report(0.80) == ([], ["context_pressure"])


def test_two_servers_that_check_at_once_open_each_alert_once(watch):
    watch.join("alice")
    watch.decisions.new(caller("alice"), "use httpx", confirm=True)
    watch.clock.advance(700)
    start = threading.Barrier(4)

    def serve():
        alerts = Alerts(wired(watch.engine.connect(), Config()))
        start.wait()
        alerts.check()

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (watch.opened("stuck_agent"), watch.opened("stale_decision")) == (1, 1)


def test_a_result_of_an_older_view_is_discarded(watch, monkeypatch):
    """The rival sees that the condition ended, while the first still believes in it."""
    watch.join("alice")
    watch.clock.advance(700)
    rival = Alerts(wired(watch.engine.connect(), Config()))
    apply, done = watch.store.apply, []

    class Delayed:
        def __getattr__(self, name):
            return getattr(watch.store, name)

        def apply(self, step):
            if not done:
                done.append(True)
                rival.check()
                watch.agents.beat(caller("alice"))
                watch.clock.advance(1)
                rival.check()
            return apply(step)

    Alerts(Delayed()).check()

    assert watch.open() == []
    assert watch.opened("stuck_agent") == 1


def test_the_newest_hundred_alerts_are_kept_and_open_ones_always(watch):
    watch.decisions.new(caller("alice"), "use httpx", confirm=True)
    watch.clock.advance(600)
    watch.check()
    (first,) = watch.open()
    for _ in range(RING + 20):
        asked = watch.decisions.new(caller("bob"), "use httpx", confirm=True)
        watch.clock.advance(600)
        watch.check()
        watch.decisions.confirm(HUMAN, asked.id)
        watch.check()

    kept = watch.alerts.all(resolved=True)
    assert len(kept) == RING
    assert first.id in [one.id for one in kept]


def test_an_alert_says_what_to_do_next(watch):
    asked = watch.decisions.new(caller("alice"), "use httpx", confirm=True)
    watch.clock.advance(600)
    watch.check()

    (alert,) = watch.open("stale_decision")
    assert alert.command == f"dibs decide show {asked.id}"
    assert "use httpx" in alert.text
