"""The rules of agents, each on its own."""

import pytest

from dibs.core.claims.agents import (
    CONTINUES,
    PROCESS_DIED,
    Agent,
    AgentStatus,
    Beat,
    Caller,
    activity,
    alive,
    ancestors,
    check_parent,
    count_crew,
    current_status,
    family,
    heartbeat_every,
    is_terminal,
)
from dibs.errors import BadInput

TREE = {"lead": "", "a": "lead", "b": "lead", "a1": "a", "other": ""}


def test_a_family_is_an_agent_and_its_subagents():
    assert family("lead", TREE) == ["lead", "a", "b", "a1"]


def test_a_cycle_of_parents_is_walked_once():
    circle = {"a": "b", "b": "a"}

    assert family("a", circle) == ["a", "b"]
    assert ancestors("a", circle) == ["b"]


def test_ancestors_come_nearest_first():
    assert ancestors("a1", TREE) == ["a", "lead"]


@pytest.mark.parametrize(("agent", "parent"), [("a", "a"), ("lead", "a1"), ("a", "a1")])
def test_a_subagent_cannot_be_the_parent(agent, parent):
    with pytest.raises(BadInput) as refused:
        check_parent(agent, parent, TREE)

    assert refused.value.code == "AGENT_CYCLE"


def test_an_ordinary_parent_is_accepted():
    check_parent("new", "a1", TREE)


@pytest.mark.parametrize("status", list(AgentStatus))
def test_every_status_except_running_and_idle_is_terminal(status):
    assert is_terminal(status) is (status not in {AgentStatus.RUNNING, AgentStatus.IDLE})


def test_ended_agents_are_not_alive():
    agents = [
        Agent("a"),
        Agent("b", status=AgentStatus.EXITED),
        Agent("c", status=AgentStatus.IDLE),
    ]

    assert [agent.id for agent in alive(agents)] == ["a", "c"]


@pytest.mark.parametrize(
    ("beat", "now", "expected"),
    [
        (Beat(100.0), 1e9, False),
        (Beat(100.0, ttl=30.0), 129.9, False),
        (Beat(100.0, ttl=30.0), 130.0, True),
        (Beat(100.0, ttl=300.0, hard=110.0), 110.0, True),
    ],
)
def test_a_beat_lapses_with_the_first_claim_that_could_expire(beat, now, expected):
    assert beat.lapsed(now) is expected


def test_only_the_human_role_is_human():
    assert Caller("x", "human").human
    assert not Caller("x").human


@pytest.mark.parametrize(
    ("status", "silent_for", "dead", "guarded", "expected"),
    [
        (AgentStatus.RUNNING, 299, False, False, "working"),
        (AgentStatus.RUNNING, 300, False, False, "idle"),
        (AgentStatus.RUNNING, 3_599, False, False, "idle"),
        (AgentStatus.RUNNING, 3_600, False, False, "gone"),
        (AgentStatus.RUNNING, 3_600, False, True, "idle"),
        (AgentStatus.IDLE, 0, False, False, "idle"),
        (AgentStatus.EXITED, 0, True, True, "gone"),
        (AgentStatus.TERMINATED, 0, False, False, "stopped"),
        (AgentStatus.COMPLETED, 0, False, False, "completed"),
    ],
)
def test_an_agent_without_heartbeats_is_idle_and_later_gone(
    status, silent_for, dead, guarded, expected
):
    assert activity(status, silent_for, 300, dead=dead, guarded=guarded) == expected


@pytest.mark.parametrize(
    ("status", "silent_for", "dead", "expected"),
    [
        (AgentStatus.RUNNING, 29, False, "running"),
        (AgentStatus.RUNNING, 30, False, "idle"),
        (AgentStatus.RUNNING, 0, True, "exited"),
        (AgentStatus.IDLE, 0, True, "exited"),
        (AgentStatus.TERMINATED, 999, True, "terminated"),
        (AgentStatus.COMPLETED, 999, False, "completed"),
    ],
)
def test_a_killed_agent_is_not_running(status, silent_for, dead, expected):
    assert current_status(status, silent_for, 30, dead=dead) == expected


@pytest.mark.parametrize(
    ("setting", "ttl", "every"), [(0, 30, 10), (10, 30, 10), (5, 30, 5), (20, 30, 15), (10, 6, 3)]
)
def test_a_heartbeat_is_sent_at_least_twice_per_ttl(setting, ttl, every):
    assert heartbeat_every(setting, ttl) == every


def test_an_agent_whose_process_died_is_gone_and_not_done():
    how = {"dead": False, "guarded": True}

    assert activity(AgentStatus.EXITED, 0, 300, ended=PROCESS_DIED, **how) == "gone"
    assert activity(AgentStatus.EXITED, 0, 300, ended="its session ended", **how) == "exited"
    assert activity(AgentStatus.FAILED, 0, 300, ended=PROCESS_DIED, **how) == "failed"


def test_every_agent_counts_once_and_each_way_to_end_has_its_own_count():
    crew = [
        Agent("a"),
        Agent("b", status=AgentStatus.IDLE),
        Agent("c", status=AgentStatus.COMPLETED),
        Agent("d", status=AgentStatus.EXITED),
        Agent("e", status=AgentStatus.TERMINATED, ended="by lead"),
        Agent("f", status=AgentStatus.FAILED),
        Agent("g", status=AgentStatus.EXITED, ended=PROCESS_DIED),
        Agent("a-before", status=AgentStatus.EXITED, ended=f"a {CONTINUES}"),
        Agent("you", role="human"),
    ]
    doing = [
        (one, activity(one.status, 0, 300, dead=False, guarded=True, ended=one.ended))
        for one in crew
    ]

    counts = count_crew(doing)

    assert counts == {"working": 1, "idle": 1, "done": 2, "stopped": 1, "failed": 1, "gone": 1}
    assert sum(counts.values()) == len(crew) - 2
    assert count_crew([]) == {"working": 0, "idle": 0, "done": 0}
