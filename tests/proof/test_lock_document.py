"""Every example of the document "File-Based Agent Coordination", run as it is written."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from proof_lock_files import SCRIPT, TAKE, TIME, World, owner
from proof_lock_judge import history, judge

if TYPE_CHECKING:
    from pathlib import Path

    from proof_lock_files import Member

pytestmark = pytest.mark.slow

#: The digest of the script as the document has it.
PUBLISHED = "03100188924de05618550f5ee018915d9a071f94ada0b03edf409158a104381b"
KINDS = ("script", "dibs")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def take_at_once(first: Member, first_kind: str, second: Member, second_kind: str) -> list[str]:
    """Let both take a task; the first one pushes right before the second one does."""
    with second.overtaken(TAKE[second_kind]) as late:
        taken = TAKE[first_kind](first)
    return [taken, late.result()]


def test_the_script_is_the_documents_except_for_the_path_of_the_repository():
    text = SCRIPT.read_text("utf-8")

    published = text.replace('"${REPO:-/workspace/shared-repo}"', '"/workspace/shared-repo"')

    assert published != text
    assert sha256(published.encode()).hexdigest() == PUBLISHED


@pytest.mark.parametrize("kinds", [("script",) * 3, ("dibs",) * 3, ("script", "dibs", "script")])
def test_three_agents_process_a_backlog_of_lint_fix_tasks(world: World, kinds: tuple[str, ...]):
    names = [
        f"fix-{what}-lint" for what in ("footer", "header", "menu", "search", "table", "title")
    ]
    world.put(dict.fromkeys(names, "title: fix it\n"))
    members = [world.member(f"agent-{number:02}") for number in range(1, 4)]

    with ThreadPoolExecutor(3) as pool:
        jobs = [
            pool.submit(TAKE[kind], member) for kind, member in zip(kinds, members, strict=True)
        ]
        taken = {member.name: job.result() for member, job in zip(members, jobs, strict=True)}

    assert world.locks() == {task: agent for agent, task in taken.items() if task}
    assert len(world.locks()) >= 2, "a script that loses a race may try all tasks in vain"
    assert judge(world) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_lock_file_has_the_documents_lines(world: World, kind: str):
    world.put({"fix-header-lint": "title: fix it\n"})

    TAKE[kind](world.member("agent-02"))

    lines = world.files("current_tasks")["current_tasks/fix-header-lint.lock"].splitlines()
    assert lines[0] == "agent: agent-02"
    assert re.fullmatch(f"claimed: {TIME}", lines[1])
    assert lines[2] == "task: fix-header-lint"
    assert [line.partition(":")[0] for line in lines[3:]] == (
        [] if kind == "script" else ["expires", "dibs"]
    )


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_agent_03_loses_the_push_and_moves_to_the_next_task(world: World, first: str, second: str):
    world.put({"fix-header-lint": "title: fix it\n", "fix-menu-lint": "title: fix it\n"})
    agent_02, agent_03 = world.member("agent-02"), world.member("agent-03")

    taken = take_at_once(agent_02, first, agent_03, second)

    assert taken == ["fix-header-lint", "fix-menu-lint"]
    assert world.locks() == {"fix-header-lint": "agent-02", "fix-menu-lint": "agent-03"}
    assert judge(world) == []


def test_git_rejects_the_second_push_and_agent_03_sees_the_owner(world: World):
    world.put({"fix-header-lint": "title: fix it\n"})
    agent_02, agent_03 = world.member("agent-02"), world.member("agent-03")
    with agent_03.overtaken(lambda member: member.run("bash", str(SCRIPT))) as late:
        assert TAKE["dibs"](agent_02) == "fix-header-lint"
    done = late.result()

    assert "[rejected]" in done.stderr
    agent_03.git("pull", "-q", "--rebase")
    lock = (agent_03.clone / "current_tasks" / "fix-header-lint.lock").read_text()
    assert owner(lock) == "agent-02"


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_the_sequence_of_the_diagram(world: World, first: str, second: str):
    world.put({"task-42": "title: one\n", "task-55": "title: other\n"})

    taken = take_at_once(world.member("agent-1"), first, world.member("agent-2"), second)

    assert taken == ["task-42", "task-55"]


def test_the_log_tells_who_claimed_and_finished_which_task_and_when(world: World):
    world.put({"fix-header-lint": "title: fix it\n", "fix-menu-lint": "title: fix it\n"})
    agents = [world.member("agent-02"), world.member("agent-03")]
    for agent in agents:
        TAKE["dibs"](agent)
    for agent in agents:
        assert agent.dibs("task", "done").returncode == 0

    trees = list(history(world.bare))[-4:]
    assert [tree.subject for tree in trees] == [
        "claim: fix-header-lint by agent-02",
        "claim: fix-menu-lint by agent-03",
        "done: fix-header-lint by agent-02",
        "done: fix-menu-lint by agent-03",
    ]
    assert [tree.time for tree in trees] == sorted(tree.time for tree in trees)
    assert trees[-1].done == {"fix-header-lint", "fix-menu-lint"}


def test_a_fourth_agent_joins_with_nothing_but_a_clone(world: World):
    world.put(dict.fromkeys("abcd", "title: fix it\n"))
    for number, kind in enumerate(("script", "dibs", "script")):
        TAKE[kind](world.member(f"agent-{number}"))

    assert TAKE["dibs"](world.member("agent-new")) == "d"
