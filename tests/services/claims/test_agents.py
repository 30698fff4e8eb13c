"""Agents join, report, leave, and are stopped."""

import pytest
from tests.services.several_agents import caller

from dibs.core.claims.agents import Agent, AgentStatus, Caller
from dibs.errors import BadInput, NotAllowed, NotFound


def status_of(crew, agent):
    return crew.agents.show(agent)[0].agent.status


def test_an_unknown_agent_joins_with_its_first_call(crew):
    crew.claim("alice", "a")

    assert status_of(crew, "alice") == AgentStatus.RUNNING
    assert crew.kinds()[0] == "agent_joined"


def test_an_agent_describes_itself_when_it_joins(crew):
    crew.agents.join(Agent("lead"))
    crew.agents.join(Agent("sub", role="reviewer", parent="lead", pid=7, model="m", task="t"))

    seen, _ = crew.agents.show("sub")

    assert seen.agent[1:6] == ("sub", "reviewer", "lead", "", 7)
    assert "sub_agent_spawned" in crew.kinds()


def test_a_parent_must_be_known_and_not_a_subagent(crew):
    with pytest.raises(NotFound):
        crew.agents.join(Agent("sub", parent="nobody"))
    crew.agents.join(Agent("a"))
    crew.agents.join(Agent("b", parent="a"))

    with pytest.raises(BadInput) as refused:
        crew.agents.join(Agent("a", parent="b"))

    assert refused.value.code == "AGENT_CYCLE"


def test_joining_again_keeps_claims(crew):
    crew.claim("alice", "a")

    crew.agents.join(Agent("alice", role="reviewer"))

    assert crew.held() == {("alice", "a")}
    assert crew.agents.show("alice")[0].agent.role == "reviewer"


def test_joining_again_does_not_revive_expired_claims(crew):
    crew.claim("alice", "a", ttl=60)
    crew.clock.advance(60)

    crew.agents.join(Agent("alice"))

    assert crew.held() == set()


def test_a_report_updates_the_agent(crew):
    crew.agents.report(caller("alice"), status="idle", context=0.5, task="t9", note="resting")

    agent = crew.agents.show("alice")[0].agent

    assert (agent.status, agent.context, agent.task) == ("idle", 0.5, "t9")


@pytest.mark.parametrize("changes", [{"status": "exited"}, {"status": "x"}, {"context": 1.5}])
def test_a_report_out_of_range_is_refused(crew, changes):
    with pytest.raises(BadInput):
        crew.agents.report(caller("alice"), **changes)

    assert crew.rows() == []


def test_leaving_releases_claims_and_tickets(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "b")
    crew.claim("alice", "b", queue=True)

    crew.agents.leave(caller("alice"))

    assert crew.held() == {("bob", "b")}
    assert crew.waiting() == []
    assert status_of(crew, "alice") == AgentStatus.EXITED


def test_an_agent_that_left_can_return_with_a_call(crew):
    crew.claim("alice", "a")
    crew.agents.leave(caller("alice"), status="completed")

    crew.claim("alice", "a")

    assert status_of(crew, "alice") == AgentStatus.RUNNING


def test_stopping_an_agent_stops_its_subagents_and_ends_their_claims(crew):
    crew.agents.join(Agent("lead"))
    crew.agents.join(Agent("sub", parent="lead"))
    crew.agents.join(Agent("subsub", parent="sub"))
    crew.claim("subsub", "a")
    crew.claim("other", "b")

    stopped = crew.agents.stop(caller("human"), "lead", reason="done")

    assert stopped == ["lead", "sub", "subsub"]
    assert crew.held() == {("other", "b")}
    assert {status_of(crew, name) for name in stopped} == {AgentStatus.TERMINATED}
    assert crew.kinds().count("agent_terminated") == 3


def test_a_stopped_agent_is_refused_until_a_human_lets_it_back_in(crew):
    crew.claim("alice", "a")
    crew.agents.stop(caller("human"), "alice", reason="runs wild")

    with pytest.raises(NotAllowed, match="runs wild"):
        crew.claim("alice", "b")
    for who in (Caller("alice"), Caller("lead"), Caller("alice", by="lead")):
        with pytest.raises(NotAllowed, match="runs wild"):
            crew.agents.join(Agent("alice"), who)

    crew.agents.join(Agent("alice"), Caller("alice", by="sam-terminal", by_human=True))
    crew.claim("alice", "b")
    assert crew.held() == {("alice", "b")}


def test_exited_and_terminated_differ(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "b")
    crew.agents.leave(caller("alice"))
    crew.agents.stop(caller("human"), "bob")

    assert (status_of(crew, "alice"), status_of(crew, "bob")) == ("exited", "terminated")


def test_stopping_an_unknown_agent_is_not_found(crew):
    with pytest.raises(NotFound):
        crew.agents.stop(caller("human"), "nobody")


def test_a_sweep_removes_all_expired_claims(crew):
    crew.claim("alice", "a", "b", ttl=60)
    crew.claim("bob", "c", ttl=600)
    crew.clock.advance(60)

    assert crew.agents.sweep() == 2
    assert crew.kinds().count("lock_expired") == 2
    assert crew.agents.sweep() == 0


@pytest.mark.parametrize("field", ["task", "model", "name", "role"])
def test_an_agents_description_is_masked_and_limited(crew, field):
    secret = "ghp_" + 3 * "a1B2c3D4e5F6"

    joined = crew.agents.join(Agent("eve")._replace(**{field: f"with {secret}"}))

    assert secret not in str(joined)
    with pytest.raises(BadInput, match="characters"):
        crew.agents.join(Agent("ada")._replace(**{field: 10_000 * "x"}))


def test_an_agent_without_a_heartbeat_for_the_ttl_is_not_listed_as_running(crew):
    crew.claim("alice", "a")
    ttl = crew.store.config.ttl
    crew.clock.advance(ttl - 1)
    assert status_of(crew, "alice") == AgentStatus.RUNNING

    crew.clock.advance(1)
    assert status_of(crew, "alice") == AgentStatus.IDLE
    (listed,) = crew.agents.all()
    assert (listed.agent.status, listed.silent_for) == (AgentStatus.IDLE, ttl)

    crew.agents.beat(caller("alice"))
    assert status_of(crew, "alice") == AgentStatus.RUNNING
