"""What becomes of an agent's work in its own worktree when its task ends."""

from __future__ import annotations

import pytest
from tests.services.commit_world import ALICE, BOB, World

from dibs.core.crew.members import Member
from dibs.services.crew.delivery import deliver

pytestmark = pytest.mark.usefixtures("own_git")

FIRST = "one\ntwo\n"


def delivered(world):
    member = Member(BOB.id, "developer", "", "", branch="main", tree=world.root)
    return deliver(world.project, BOB, member, "T-1", "Add login")


def tasks(world):
    return [view.stored for view in world.project.tasks.all(None)]


def test_a_delivery_that_would_commit_another_agents_lines_becomes_a_task_once(tmp_path):
    world = World(tmp_path / "tree")
    world.leave(ALICE, "src/one.py", "1\nby alice\n")
    world.put("src/one.py", "1\nby alice\nby bob\n")
    before = world.head()
    done = delivered(world)
    assert not done.complete
    (found,) = tasks(world)
    task = found.task
    assert done.notes[0].endswith(f"see task {task.id}")
    assert (task.title, task.priority) == ("Commit bob's work on T-1", "high")
    words = (
        "in src/one.py, 1 line of alice is in no commit", "compare: git show refs/salvage/alice/",
        "alice: by alice", "bob: by bob", "dibs commit --repo", "--inherited -m MESSAGE",
    )  # fmt: skip
    assert [text for text in words if text not in found.text] == []
    assert world.head() == before
    assert " M src/one.py" in world.dirty()
    delivered(world)
    assert [one.task.id for one in tasks(world)] == [task.id], "the same refusal creates one task"
