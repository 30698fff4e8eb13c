"""Which task goes to which agent, and when another agent is started."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dibs.core.crew.assignment import AT_ONCE, CrewCount, FreeAgent, ReadyTask, may_take, plan
from dibs.core.crew.roles import CrewConfig, CrewRole


def role(name="developer", limit=20):
    return CrewRole(name, "command", "headless", ("agent",), limit=limit)


def count(total=0, limit=4, **settings):
    return CrewCount(
        total, settings.pop("by_role", {}), settings.pop("starting", {}), limit, **settings
    )


CONFIG = CrewConfig((role(), role("tester")))


def test_a_task_goes_to_the_free_agent_that_knows_its_files():
    free = [
        FreeAgent("developer-1", "developer"),
        FreeAgent("developer-2", "developer", ("src/auth/login.py",)),
    ]

    found = plan(CONFIG, [ReadyTask("t", paths=("src/auth/**",))], free, count(2))

    assert found.assign == (("t", "developer-2"),)


def test_of_equal_agents_the_one_that_waits_longest_gets_the_task():
    free = [FreeAgent("a", "developer", since=5.0), FreeAgent("b", "developer", since=1.0)]

    assert plan(CONFIG, [ReadyTask("t")], free, count(2)).assign == (("t", "b"),)


def test_a_task_for_a_role_waits_for_that_role():
    free = [FreeAgent("developer-1", "developer")]

    found = plan(CONFIG, [ReadyTask("t", "tester")], free, count(1))

    assert (found.assign, found.spawn) == ((), ("tester",))


def test_a_task_for_an_unknown_name_says_so():
    found = plan(CONFIG, [ReadyTask("t", "bob")], [], count())

    assert found.waiting == (("t", "no role or agent is called bob"),)
    assert found.spawn == ()


def test_an_agent_that_is_starting_counts_for_one_task():
    tasks = [ReadyTask("a"), ReadyTask("b")]

    found = plan(CONFIG, tasks, [], count(1, starting={"developer": 1}, by_role={"developer": 1}))

    assert found.spawn == ("developer",)


def test_a_role_that_failed_to_start_is_not_started_again():
    found = plan(CONFIG, [ReadyTask("a")], [], count(failed=("developer",)))

    assert found.spawn == ()
    assert "dibs crew up" in found.waiting[0][1]


def test_the_only_agent_is_busy():
    config = CrewConfig((role(limit=1),))
    busy = count(1, by_role={"developer": 1})

    assert plan(config, [ReadyTask("a")], [], busy).waiting == (
        ("a", "the only agent with the role developer is busy"),
    )


tasks = st.lists(
    st.builds(ReadyTask, st.uuids().map(str), st.sampled_from(["", "developer", "tester", "a-1", "nobody"])),
    unique_by=lambda task: task.id, max_size=12,
)  # fmt: skip
agents = st.lists(
    st.builds(FreeAgent, st.sampled_from([*"abcdefg", "a-1"]), st.sampled_from(["developer", "tester"])),
    unique_by=lambda agent: agent.id, max_size=8,
)  # fmt: skip


@given(tasks, agents, st.integers(1, 20), st.integers(0, 20))
def test_no_plan_breaks_a_limit_or_assigns_anything_twice(ready, free, limit, others):
    total = len(free) + others
    found = plan(CONFIG, ready, free, count(total, limit))

    given_tasks = [task for task, _ in found.assign]
    given_agents = [agent for _, agent in found.assign]
    assert len(set(given_tasks)) == len(given_tasks)
    assert len(set(given_agents)) == len(given_agents)
    by_id = {task.id: task for task in ready}
    known = {agent.id: agent for agent in free}
    assert all(may_take(by_id[task], known[agent]) for task, agent in found.assign)
    assert len(found.spawn) <= max(0, min(AT_ONCE, limit - total))
    assert {*given_tasks, *(task for task, _ in found.waiting)} == by_id.keys()
