"""What counts as activity: tool calls and turns of guarded agents, not heartbeats that others send."""

import pytest
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import EventKind
from dibs.services.alerts.service import Alerts
from dibs.services.state.presence import keep_alive


class Watched(Guarded):
    """A guarded repository whose alerts are checked after some time."""

    def after(self, seconds):
        """Let time pass, with a server that sends heartbeats, and return who is stuck."""
        for _ in range(int(seconds) // 60):
            self.clock.advance(60)
            self.store.apply(lambda rows: [keep_alive(rows, one.id) for one in rows.agents()])
        self.clock.advance(seconds % 60)
        alerts = Alerts(self.store)
        alerts.check()
        return [one.subject for one in alerts.all() if one.kind == "stuck_agent"]

    def prompt(self, session):
        return self.hear(session, EventKind.PROMPTED)


@pytest.fixture
def watched(tmp_path, own_git):
    made = Watched(tmp_path / "repo")
    made.named = {"one": "alice"}
    return made


def test_a_model_call_may_take_thirty_minutes(watched):
    watched.start("one")
    watched.prompt("one")

    assert watched.after(1_799) == []
    assert watched.after(1) == ["alice"]


def test_a_tool_call_may_take_ten_minutes(watched):
    watched.prompt("one")
    watched.edit("one", "a.py", call="c1")

    assert watched.after(599) == []
    assert watched.after(1) == ["alice"]


def test_after_a_tool_call_the_model_is_at_work_again(watched):
    watched.prompt("one")
    watched.edit("one", "a.py", call="c1")
    watched.hear("one", EventKind.AFTER, "a.py", tool="Write", call="c1")

    assert watched.after(1_799) == []
    assert watched.after(1) == ["alice"]


@pytest.mark.parametrize("held", [False, True])
def test_an_agent_whose_turn_is_over_waits_for_its_user_and_is_not_stuck(watched, held):
    watched.start("one")
    watched.prompt("one")
    if held:
        watched.edit("one", "a.py", call="c1")
        watched.write("a.py")
    watched.stop("one")

    assert watched.after(7_200) == []
    watched.prompt("one")
    assert watched.after(1_800) == ["alice"]


def test_a_session_that_has_just_started_waits_for_its_user(watched):
    watched.start("one")

    assert watched.after(7_200) == []
