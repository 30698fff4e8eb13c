"""A crew of two real agents takes a board of three tasks to merged commits.

Each test is a row of the table in ``docs/reference/e2e.md``; its docstring is the title of the row.
"""

from __future__ import annotations

from tests.e2e.crew import FILES

CREW = {"developer-1", "developer-2"}


def test_the_crew_finishes_the_board(crew):
    """A crew of two finishes a board of three tasks, each once and in order."""
    done = [entry["details"]["task"] for entry in crew.entries("task_completed")]
    started = {entry["details"]["task"]: entry["seq"] for entry in crew.entries("task_started")}
    (first,) = (e for e in crew.entries("task_completed") if "add-one" in e["details"]["task"])

    assert sorted(done) == sorted(crew.tasks.values())
    assert crew.entries("task_failed") == []
    assert started[crew.tasks["Add three"]] > first["seq"]


def test_the_work_of_the_crew_is_merged(crew):
    """The work is committed with the task's title and merged into main."""
    doers = {entry["details"]["task"]: entry["agent"] for entry in crew.entries("task_completed")}
    subjects = crew.world.git("log", "--no-merges", "--format=%s", "main").splitlines()

    for title, path in FILES.items():
        assert crew.world.git("show", f"main:{path}") == doers[crew.tasks[title]]
        assert crew.world.text(path) == f"{doers[crew.tasks[title]]}\n"
    assert sorted(subjects) == sorted([*FILES, "set up", "files"])
    assert crew.world.git("branch", "--no-merged", "main") == ""


def test_the_hooks_act_for_the_agent_of_the_crew(crew):
    """In each turn, the agent's hooks act for the same agent of the crew."""
    guarded = {entry["agent"] for entry in crew.entries("agent_guarded")}
    claimed = {entry["agent"] for entry in crew.entries("lock_acquired") if "two.txt" in str(entry)}
    (second,) = (e for e in crew.entries("task_completed") if "add-two" in e["details"]["task"])

    assert guarded <= CREW
    assert second["agent"] in guarded
    assert claimed == {second["agent"]}
    assert {id_ for id_, one in crew.world.agents().items() if one["role"] != "human"} <= CREW


def test_a_stopped_crew_leaves_nothing(crew):
    """`dibs crew stop` ends all processes and releases all claims."""
    assert crew.before
    assert crew.agents == []
    assert crew.after == []
    assert crew.world.claims() == {}
    assert "stopped developer-1" in crew.stop
    assert crew.entries("agent_exited") == []
