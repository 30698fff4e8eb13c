"""One agent of the crew: prompted, restarted after crashes, and stopped with everything it started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.crew.conftest import HUMAN, lives

from dibs.core.claims.agents import Caller
from dibs.core.crew.members import MemberState
from dibs.core.crew.restarts import MOST_RESTARTS
from dibs.core.tasks.rules import Status
from dibs.crew import control
from dibs.crew.folders import agent_folder
from dibs.crew.logs import MOST_BYTES, OLDER
from dibs.errors import BadInput, Misconfigured, NotAllowed


def test_a_board_becomes_merged_commits(world):
    first = world.task("write a.txt done")
    second = world.task("write b.txt done", needs=(first,))
    world.up()

    world.until(lambda: world.status(second) == Status.DONE)
    world.until((world.repo / "b.txt").exists, "merged")

    assert (world.repo / "a.txt").read_text() == f"developer-1 wrote this for {first}\n"
    assert {one["task"] for one in world.diary()} == {first, second}
    world.until(lambda: not world.git("status", "--porcelain"), "a clean tree after the merge")
    assert world.git("log", "--format=%an", "-1") == "ann\n"


def test_work_that_cannot_be_merged_is_kept_and_named(world):
    task = world.task("write README.md done")
    world.up()
    world.until(world.diary, "started")
    (world.repo / "README.md").write_text("the person's own change\n")

    world.until(
        lambda: world.member().state == MemberState.IDLE and world.status(task) == Status.DONE
    )

    entry = world.until(lambda: world.kinds("error"), "reported")[0]
    tree = Path(world.member().tree)
    assert "not merged" in entry.summary
    assert (world.repo / "README.md").read_text() == "the person's own change\n"
    assert (tree / "README.md").read_text() == f"developer-1 wrote this for {task}\n"


def test_a_test_that_no_human_accepted_does_not_run_and_the_work_is_kept(world):
    mark = world.repo.parent / "ran"
    with (world.repo / "dibs.toml").open("a") as file:
        file.write(f'[merge]\ntest = "touch {mark}"\n')
    world.task("write a.txt done")
    world.up()

    entry = world.until(lambda: world.kinds("error"), "reported")[0]

    assert "not merged: no human has accepted what dibs.toml starts" in entry.summary
    assert not mark.exists()
    assert (Path(world.member().tree) / "a.txt").exists()
    assert not (world.repo / "a.txt").exists()


def test_a_turn_without_a_result_is_asked_once_and_then_fails(world):
    task = world.task("nothing")
    world.up()

    world.until(lambda: world.status(task) == Status.ERROR)

    prompts = [one["prompt"] for one in world.diary()]
    assert len(prompts) == 2
    assert "still in progress" in prompts[1]
    assert "without a result" in world.project.tasks.show(None, task).stored.task.error


def test_a_role_may_count_exit_status_0_as_done(world):
    task = world.task("write a.txt")
    world.up("done_on_exit = true")

    world.until((world.repo / "a.txt").exists, "merged")

    assert world.status(task) == Status.DONE
    assert len(world.diary()) == 1


def test_a_crashed_agent_is_started_again_with_its_task_and_worktree(world):
    task = world.task("write kept.txt once done")
    world.up()

    world.until(lambda: world.status(task) == Status.DONE)

    first, second = world.diary()
    assert (first["agent"], first["cwd"]) == (second["agent"], second["cwd"])
    assert world.member().restarts == 1
    crashed = world.kinds("agent_crashed")[0]
    assert crashed.details["cause"] == "exit status 7"
    assert [one.kind for one in world.kinds("error", "agent_auto_restarted")][:2] == [
        "error", "agent_auto_restarted",
    ]  # fmt: skip
    assert world.project.tasks.show(None, task).stored.attempt == 1


@pytest.mark.parametrize(
    ("title", "cause"),
    [
        ("exit 3", "exit status 3"),
        ("signal 9", "killed by signal 9 (SIGKILL)"),
        ("exit 255", "exit status 255"),
    ],
)
def test_an_agent_that_always_crashes_is_given_up_and_its_task_fails(world, title, cause):
    task = world.task(title)
    world.up()

    world.until(
        lambda: world.member().state == MemberState.FAILED if world.crew.members() else False
    )

    assert world.status(task) == Status.ERROR
    assert cause in world.project.tasks.show(None, task).stored.task.error
    assert len(world.diary()) == 1 + MOST_RESTARTS
    assert len(world.kinds("agent_restart_limit")) == 1
    records = control.details(world.project, "developer-1").crashes
    assert [one["tasks"] for one in records] == [[task]] * (1 + MOST_RESTARTS)
    assert records[0]["cause"] == cause


def test_a_crash_of_one_task_does_not_count_against_another(world):
    bad, good = world.task("exit 3"), world.task("write a.txt done")
    world.up(crew="max_agents = 1")

    world.until(lambda: world.status(good) == Status.DONE and world.status(bad) == Status.ERROR)


def test_a_turn_that_takes_too_long_is_a_crash_named_timeout(world):
    world.task("ignore hang")
    world.up('timeout = "1s"')

    crash = world.until(lambda: world.kinds("agent_crashed"), within=90)[0]

    assert crash.details["cause"] == "timed out after 1s"
    assert not lives(world.diary()[0]["pid"])


@pytest.mark.parametrize(
    "title",
    [
        "write w.txt ignore hang",
        "write w.txt fork ignore hang",
        "write w.txt fork clean ignore hang",
    ],
)
def test_stop_ends_every_process_and_releases_claims_only_then(world, title):
    task = world.task(title)
    world.up()
    started = world.until(world.diary, "started")[0]
    if "fork" in title:
        world.until(lambda: world.diary("daemon"), "daemon")
    pids = [started["pid"], *(one["pid"] for one in world.diary("daemon"))]
    assert all(map(lives, pids))
    owner = Caller("developer-1", "developer")
    world.project.claims.claim(owner, [world.project.pattern("src/x.py")])
    control.pause(world.project, HUMAN, paused=True)

    control.stop(world.project, HUMAN, ["developer-1"], "enough")
    assert world.project.claims.all("developer-1")[0]
    world.until(lambda: world.member().state == MemberState.STOPPED)

    assert not any(map(lives, pids))
    assert world.project.claims.all("developer-1")[0] == []
    seen, _ = world.project.agents.show("developer-1")
    assert (seen.agent.status, seen.agent.ended) == ("terminated", "enough")
    assert world.status(task) == Status.NEW
    assert (Path(world.member().tree) / "w.txt").exists()


def test_a_worktree_without_work_is_removed_with_its_agent(world):
    world.up()
    control.spawn(world.project, HUMAN)
    world.until(lambda: world.member().state == MemberState.IDLE and world.member().tree)
    tree = Path(world.member().tree)

    control.stop(world.project, HUMAN, ["developer-1"], "enough")
    world.until(lambda: world.member().state == MemberState.STOPPED)

    assert not tree.exists()
    assert world.git("branch", "--list", "agent/*") == ""


def test_a_dependent_task_starts_with_the_merged_work_of_the_first(world):
    first = world.task("write a.txt done")
    second = world.task("read a.txt done", needs=(first,))
    world.up(crew="max_agents = 2")
    control.spawn(world.project, HUMAN)
    control.spawn(world.project, HUMAN)

    world.until(lambda: world.status(second) == Status.DONE)

    assert world.diary("read")[0]["text"] == f"{world.diary()[0]['agent']} wrote this for {first}\n"


def test_unfinished_work_is_not_mixed_with_the_next_task(world):
    bad = world.task("write half.txt fail")
    world.up(crew="max_agents = 1")
    world.until(lambda: world.status(bad) == Status.ERROR)
    good = world.task("write whole.txt done")
    world.until(lambda: world.status(good) == Status.DONE)
    world.until((world.repo / "whole.txt").exists, "merged")

    assert not (world.repo / "half.txt").exists()
    first = world.member("developer-1")
    assert first.state == MemberState.EXITED
    assert f"unfinished work for {bad}" in first.cause
    assert (Path(first.tree) / "half.txt").exists()


def test_stop_cascades_to_children_and_survives_a_cycle_of_parents(world):
    world.task("hang")
    world.up(crew="max_agents = 4")
    world.until(world.diary, "started")
    lead = Caller("developer-1", "developer")
    control.spawn(world.project, lead)
    world.until(lambda: world.member("developer-2").pid, "child runs")
    world.crew.report("developer-1", world.member().nonce, parent="developer-2")

    control.pause(world.project, HUMAN, paused=True)
    control.stop(world.project, HUMAN, ["developer-1"], "all")

    world.until(lambda: all(one.is_over for one in world.crew.members()))
    assert {one.state for one in world.crew.members()} == {MemberState.STOPPED}


def test_an_agent_stops_only_itself_and_its_children(world):
    world.task("hang")
    world.up(crew="max_agents = 2")
    world.until(world.diary, "started")
    control.spawn(world.project, HUMAN)

    with pytest.raises(NotAllowed):
        control.stop(world.project, Caller("developer-2", "developer"), ["developer-1"], "mine")
    assert world.member().state == MemberState.WORKING


def test_endless_output_without_a_newline_is_cut_and_costs_little_memory(world):
    task = world.task(f"print {200 << 20} done")
    world.up()

    world.until(lambda: world.status(task) == Status.DONE, within=120)

    folder = Path(agent_folder(world.project.place.repository.state, "developer-1"))
    sizes = [path.stat().st_size for path in folder.glob("output.log*")]
    assert len(sizes) <= 1 + OLDER
    assert max(sizes) <= MOST_BYTES
    status = Path(f"/proc/{world.member().pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 150_000  # kB


def test_text_commands_in_the_output_finish_a_task(world):
    task = world.task(
        'write a.txt say ⟦⟦~DIBS~{"tool":"task","action":"done","id":"$ID","text":"printed"}~⟧⟧'
    )
    world.up()

    world.until(lambda: world.status(task) == Status.DONE)

    assert world.project.tasks.show(None, task).stored.task.summary == "printed"
    world.until((world.repo / "a.txt").exists, "merged")


# -- bad input


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('[""]', "needs a command"),
        ('["no-such-agent"]', "no-such-agent is not on the PATH"),
        ('["./missing.sh"]', "does not exist"),
        ('["~/agent"]', "~ is not expanded"),
        ('["README.md; rm -rf /"]', "does not exist"),
        ('"agent --run"', "must be a list of strings"),
        ('["agent", 1]', "must be a list of strings"),
    ],
)
def test_row_105_a_command_that_is_not_a_program_is_refused_and_named(world, command, message):
    (world.repo / "crew.toml").write_text(f"[roles.developer]\ncommand = {command}\n")

    with pytest.raises(Misconfigured, match=message):
        control.up(world.project, HUMAN)
    assert control.overview(world.project).config is None


def test_a_program_that_disappears_is_a_crash_that_names_it(world, tmp_path):
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    world.up(command=[str(program)])
    program.unlink()
    world.task("done")

    crash = world.until(lambda: world.kinds("agent_crashed"))[0]

    assert "agent does not exist" in crash.details["cause"]


def test_row_106_secrets_and_program_variables_do_not_reach_an_agent(world, monkeypatch):
    for name in ("LD_PRELOAD", "GIT_DIR", "GIT_INDEX_FILE", "AWS_SECRET_ACCESS_KEY", "DIBS_ENGINE"):
        monkeypatch.setenv(name, "/nowhere" if name != "DIBS_ENGINE" else "")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-allowed")
    world.task("done")
    for name in ("GIT_DIR", "GIT_INDEX_FILE"):
        os.environ.pop(name)
    world.up('env = ["OPENAI_API_KEY"]')

    seen = world.until(world.diary)[0]["environ"]

    assert seen["OPENAI_API_KEY"] == "sk-allowed"
    assert seen["DIBS_AGENT"] == "developer-1"
    assert not {"LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "GIT_DIR", "GIT_INDEX_FILE"} & seen.keys()


@pytest.mark.parametrize("limit", [0, -1, 21, 1000])
def test_row_107_a_limit_outside_1_to_20_is_refused(world, limit):
    world.up()

    with pytest.raises(BadInput, match="from 1 to 20"):
        control.scale(world.project, HUMAN, limit)
    with pytest.raises(Misconfigured, match="from 1 to 20"):
        world.up(crew=f"max_agents = {limit}")


def test_row_107_a_spawn_above_the_limit_is_refused(world):
    world.up(crew="max_agents = 1")
    control.spawn(world.project, HUMAN)

    with pytest.raises(BadInput, match="its limit is 1"):
        control.spawn(world.project, HUMAN)
