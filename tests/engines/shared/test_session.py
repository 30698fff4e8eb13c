"""A connection to a store on a server: which of several failures a caller learns about."""

from __future__ import annotations

import time

import pytest

from dibs.engines.shared import clock, session
from dibs.engines.shared.failures import NotSent
from dibs.errors import Unavailable


class Standby(session.StoreSession):
    """Needs 0.3 s to learn that the server is a standby."""

    moment = 0.0

    def open(self, until):
        self.moment, found = min(self.moment + 0.3, until), self.moment + 0.3 < until
        raise NotSent("a standby" if found else "timed out")

    def passes(self, problem):
        return True

    def unavailable(self, problem):
        return Unavailable(str(problem))


@pytest.mark.parametrize("timeout", [0.5, 0.8, 1.0, 1.3, 2.0, 5.0])
def test_a_caller_learns_the_cause_and_not_that_the_last_attempt_had_no_time(monkeypatch, timeout):
    standby = Standby("", None, clock.system_sources())
    monkeypatch.setattr(session, "_monotonic", lambda: standby.moment)
    monkeypatch.setattr(
        time, "sleep", lambda pause: setattr(standby, "moment", standby.moment + pause)
    )

    with pytest.raises(Unavailable, match="a standby"):
        standby.link(timeout)

    assert standby.moment <= timeout
