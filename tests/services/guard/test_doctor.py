"""What the doctor finds in the crew: dead processes, expired claims, worktrees, clocks."""

import os
import subprocess
import sys
import time

import pytest
from tests.services.guards import Guarded
from tests.services.several_agents import caller

from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.memory import MemoryEngine
from dibs.local.processes import running
from dibs.project.project import open_project
from dibs.services.guard.doctor import Doctoring
from dibs.services.worktrees.service import WorktreeRequest
from dibs.testing import ManualClock


@pytest.fixture
def guarded(tmp_path, own_git):
    return at(tmp_path / "repo", time.time())


def at(folder, moment):
    """Create a crew whose store has its own clock."""
    clock = ManualClock(moment)
    made = Guarded(folder, MemoryEngine(clock))
    made.clock = clock
    return made


def doctor(guarded):
    return Doctoring(guarded.store, guarded.repository)


def told(guarded, what):
    return [f.text for f in doctor(guarded).inspect("1") if f.what == what]


def test_a_healthy_crew_reports_only_versions(guarded):
    guarded.claims.claim(caller("alice"), [parse("a.txt")])

    assert [f.what for f in doctor(guarded).inspect("1")] == ["versions"]


def test_an_expired_claim_is_reported_and_removed_by_repair(guarded):
    guarded.claims.claim(caller("alice"), [parse("a.txt")], ttl=60)
    guarded.clock.advance(90)

    assert "alice's claim on a.txt expired 30s ago" in told(guarded, "claims")[0]
    assert doctor(guarded).repair(Caller("you", "human")) == ["removed 1 expired claim"]
    assert told(guarded, "claims") == []


def test_an_agent_with_a_dead_process_is_reported_and_ended_by_repair(guarded):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    guarded.processes["one"] = running(child.pid)
    guarded.edit("one", "a.txt")
    assert told(guarded, "process") == []

    child.kill()
    child.communicate()

    (text,) = told(guarded, "process")
    assert f"(process {child.pid}) is dead; its 1 claim blocks no one" in text
    (line,) = doctor(guarded).repair(Caller("you", "human"))
    assert line.endswith(": its process is dead")
    assert told(guarded, "process") == []
    assert guarded.claims.all()[0] == []


@pytest.mark.parametrize(("off", "side"), [(3_600, "ahead of"), (-3_600, "behind")])
def test_a_store_clock_far_from_this_machines_is_reported(tmp_path, own_git, off, side):
    (text,) = told(at(tmp_path / "repo", time.time() + off), "clock")

    assert f" {side} this machine's" in text


def test_an_ended_agents_worktree_is_reported_and_removed_only_if_it_has_no_work(tmp_path, own_git):
    repo = Guarded(tmp_path / "repo")
    project = open_project(repo.root, {})
    try:
        you = Caller("you", "human")
        paths = {}
        for name in ("idle", "busy"):
            project.agents.beat(Caller(name))
            paths[name] = project.worktrees.new(you, WorktreeRequest(name)).row.path
            project.agents.leave(Caller(name))
        with open(os.path.join(paths["busy"], "work.txt"), "w", encoding="utf-8") as file:
            file.write("work")

        found = [f for f in project.doctoring.inspect("1") if f.what == "worktree"]
        done = project.doctoring.repair(you)

        assert len(found) == 2
        kept, removed = done
        assert removed == f"removed idle's worktree {paths['idle']}"
        assert kept.startswith(f"kept busy's worktree {paths['busy']} (1 untracked file: work.txt)")
        assert os.path.exists(os.path.join(paths["busy"], "work.txt"))
        assert not os.path.exists(paths["idle"])
    finally:
        project.close()
