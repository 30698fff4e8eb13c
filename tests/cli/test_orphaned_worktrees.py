"""Orphaned worktrees: their agent is dead. They are found and cleaned up, and no work is lost."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.cli.conftest import git
from tests.cli.test_worktree import REMOVING, branches, die_at, known

from dibs.core.toolcalls.values import EventKind, HookEvent, Touch
from dibs.local.processes import running
from dibs.project.project import open_project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
AGENT = "claude-11111111"


@pytest.fixture
def agent(tree, dibs):
    """The process of a guarded agent that has a worktree."""
    process = subprocess.Popen(["sleep", "600"])
    heard = HookEvent("claude", EventKind.BEFORE, "11111111", touches=(Touch("a"),), tool="Write")
    project = open_project(str(tree))
    project.guarding.hear(heard, running(process.pid), {})
    project.close()
    assert dibs("worktree", "new", AGENT).status == 0
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


@pytest.fixture
def folder(tree):
    return tree.parent / f"repo.worktrees/{AGENT}"


def die(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def listed(dibs):
    return {one["agent"]: one for one in dibs("worktree", "ls", "--json").json["worktrees"]}


def test_a_killed_agents_worktree_is_orphaned_at_once_and_a_live_agents_is_not(agent, dibs):
    assert listed(dibs)[AGENT]["orphaned"] is False
    assert "orphaned" not in dibs("worktree", "ls").out
    (kept,) = dibs("worktree", "gc", "--salvage", "--json").json["worktrees"]
    assert (kept["removed"], kept["why"]) == (False, "its agent is active")

    die(agent)

    assert listed(dibs)[AGENT]["orphaned"] is True
    assert "orphaned" in dibs("worktree", "ls").out


def test_an_orphaned_worktree_without_work_is_removed_and_the_list_names_the_command(
    agent, folder, dibs
):
    die(agent)
    found = dibs("doctor").out
    assert f"{AGENT}'s worktree" in found
    assert "dibs worktree gc" in found

    answer = dibs("worktree", "gc")

    assert answer.out.startswith(f"removed {AGENT} {folder}")
    assert (folder.exists(), len(known()), branches()) == (False, 1, ["main"])


def test_doctor_fix_removes_it_without_work_and_says_what_it_keeps(agent, folder, dibs):
    (folder / "a").write_text("half-done\n")
    die(agent)

    kept = dibs("doctor", "--fix").out

    assert f"kept {AGENT}'s worktree {folder} (1 modified file: a)" in kept
    assert "dibs worktree gc --salvage" in kept
    assert (folder / "a").read_text() == "half-done\n"
    git("checkout", "-q", "--", "a", cwd=folder)
    assert f"removed {AGENT}'s worktree {folder}" in dibs("doctor", "--fix").out
    assert not folder.exists()


def test_work_in_an_orphaned_worktree_stays_unless_it_is_salvaged(agent, folder, dibs):
    (folder / "done").write_text("done\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "unmerged", cwd=folder)
    tip = git("rev-parse", "HEAD", cwd=folder)
    (folder / "new").write_text("new\n")
    die(agent)

    (kept,) = dibs("worktree", "gc", "--json").json["worktrees"]
    assert (kept["removed"], kept["code"]) == (False, "WORK_INSIDE")
    assert (folder / "new").read_text() == "new\n"
    would = dibs("worktree", "gc", "--salvage", "--dry-run").out
    assert would.startswith("would remove")
    assert (folder / "new").exists()

    (gone,) = dibs("worktree", "gc", "--salvage", "--json").json["worktrees"]

    assert gone["removed"]
    assert gone["branch_gone"] is False
    assert git("rev-parse", f"agent/{AGENT}") == tip
    assert git("show", f"refs/salvage/{gone['salvage']}:new") == "new"
    assert gone["salvage"] in dibs("salvage", "ls").out


@pytest.mark.parametrize("step", REMOVING)
def test_a_killed_cleanup_can_be_repeated_and_loses_nothing(agent, folder, start, dibs, step):
    (folder / "new").write_text("new\n")
    die(agent)
    die_at(start, step, "worktree", "gc", "--salvage")

    assert dibs("worktree", "gc", "--salvage").status == 0

    saved = dibs("salvage", "ls", "--json").json["salvaged"]
    assert saved
    assert {git("show", f"{item['ref']}:new") for item in saved} == {"new"}
    assert (folder.exists(), len(known()), branches()) == (False, 1, ["main"])


def test_a_persons_worktrees_are_never_orphaned(tree, dibs, tmp_path):
    git("worktree", "add", "-q", "-b", "agent/mine", str(tmp_path / "mine"))
    assert dibs("worktree", "new").status == 0
    dibs("agent", "leave")
    before = known()

    found = dibs("worktree", "ls", "--json", agent="bob").json["worktrees"]
    words = ("worktree", "gc", "--salvage", "--json")
    (skipped,) = dibs(*words, agent="bob").json["worktrees"]

    assert [one["orphaned"] for one in found] == [False, False]
    assert skipped["why"] == "it belongs to a person"
    dibs("doctor", "--fix", agent="bob")
    assert known() == before


def test_a_missing_folder_of_a_persons_worktree_is_left_to_git(tree, dibs, tmp_path):
    place = tmp_path / "mine"
    git("worktree", "add", "-q", "-b", "agent/mine", str(place))
    subprocess.run(["rm", "-r", str(place)], check=True)

    found = dibs("doctor").out

    assert "git worktree prune" in found
    assert "dibs worktree gc" not in found
