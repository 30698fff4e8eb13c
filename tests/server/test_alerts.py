"""The server checks alerts each minute and soon after events."""

from __future__ import annotations

import pytest
from tests.server.conftest import until

from dibs.core.claims.agents import Caller
from dibs.server import alerts
from dibs.server.alerts import EVERY, NAME, AlertJob
from dibs.testing import ManualClock

BOB = Caller("bob")


def kinds(resident):
    return [one.kind for one in resident.projects.all()[0].project().alerts.all()]


def test_each_project_has_one_check_a_minute(resident):
    resident.alerts.start()
    served = resident.projects.all()[0]

    (job,) = [one for one in resident.scheduler.registered() if one.id.endswith(f"/{NAME}")]
    assert (job.id, job.every, EVERY) == (f"{served.id}/alerts", 60.0, 60.0)


def test_an_event_that_matters_is_followed_by_a_check(resident, monkeypatch):
    monkeypatch.setattr(alerts, "SHORTEST", 0.05)
    resident.scheduler.start()
    resident.alerts.start()
    resident.projects.all()[0].project().agents.report(BOB, context=0.99)

    until(lambda: "context_pressure" in kinds(resident))


def test_checks_have_a_pause_between_them_however_many_events_there_are(resident):
    clock = ManualClock(0.0)
    job = AlertJob(resident.projects.all()[0], clock)

    assert job.run() is None
    clock.advance(0.5)
    assert job.run() == pytest.approx(1.5)
    clock.advance(1.5)
    assert job.run() is None
