"""A plain ``git commit`` that read the branch and the index before ``dibs commit`` changed them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from tests.services.commit_world import ALICE, BOB, World

from dibs.cli import main
from dibs.git import index
from dibs.services.commits import gate

pytestmark = pytest.mark.usefixtures("own_git")

STEPS = ("prepared", "intent", "published", "moving", "moved", "followed")
#: Git runs this program after it has read HEAD and the index, and before it locks the index.
PAUSE = """#!/bin/sh
mkdir '{0}/once' 2>/dev/null || exit 1
echo >'{0}/reading'
read -r line <'{0}/go'
exit 1
"""


class Paused:
    """A plain ``git commit`` of a staged file that stops before it locks the index."""

    def __init__(self, world, folder):
        os.makedirs(folder)
        for name in ("reading", "go"):
            os.mkfifo(f"{folder}/{name}")
        script = f"{folder}/pause"
        with open(script, "w", encoding="utf-8") as file:
            file.write(PAUSE.format(folder))
        os.chmod(script, 0o755)
        self._folder = folder
        words = ["git", "-c", f"core.fsmonitor={script}", "commit", "-q", "-m", "plain"]
        self._process = subprocess.Popen(
            words,
            cwd=world.root,
            env={**os.environ, "GIT_TEST_PRELOAD_INDEX": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        with open(f"{folder}/reading", encoding="utf-8") as file:
            file.read()  # until git has read the index

    def go_on(self):
        """Let it finish, and return its exit status."""
        with open(f"{self._folder}/go", "w", encoding="utf-8") as file:
            file.write("go\n")
        self._process.communicate(timeout=20)
        return self._process.returncode


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "tree")
    made.put("plain.txt", "staged\n")
    made.git("add", "plain.txt")
    return made


@pytest.mark.parametrize("step", STEPS)
def test_a_plain_commit_never_undoes_a_commit_that_lands_meanwhile(
    world, tmp_path, monkeypatch, step
):
    started = []

    def reach(reached):
        if reached == step and not started:
            started.append(Paused(world, f"{tmp_path}/pause"))

    monkeypatch.setattr(gate, "reach", reach)
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "by alice\n")
    landed = world.committed(ALICE).commit
    (plain,) = started
    status = plain.go_on()

    assert world.git("show", "HEAD:src/one.py") == "by alice"
    world.git("merge-base", "--is-ancestor", landed, "HEAD")
    if not status:
        assert world.files() == {"plain.txt"}


@pytest.mark.parametrize("step", STEPS[:2])
def test_the_git_hook_refuses_a_stale_index_that_would_undo_a_commit(
    world, tmp_path, monkeypatch, step
):
    main(["git", "install", "--repo", world.root])
    started = []

    def reach(reached):
        if reached == step and not started:
            started.append(Paused(world, f"{tmp_path}/pause"))

    monkeypatch.setattr(gate, "reach", reach)
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "by alice\n")
    world.committed(ALICE, release=True)
    assert started[0].go_on(), "the branch has moved"

    words = ["git", "commit", "-q", "-m", "again"]
    done = subprocess.run(words, cwd=world.root, capture_output=True, text=True, check=False)

    assert done.returncode
    assert "src/one.py: it would undo " in done.stderr
    assert "by alice" in done.stderr
    world.git("reset", "-q", "--", "src/one.py")
    world.git("commit", "-q", "-m", "again")
    assert world.files() == {"plain.txt"}
    assert world.git("show", "HEAD:src/one.py") == "by alice"


def test_the_git_hook_allows_a_deliberate_revert(world):
    main(["git", "install", "--repo", world.root])
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "by alice\n")
    world.committed(ALICE, release=True)
    world.put("src/one.py", "1\n")
    world.git("commit", "-q", "-m", "revert", "src/one.py")
    assert world.git("show", "HEAD:src/one.py") == "1"


#: Commits as alice, and stops when it reaches a step.
STOPPING = """
import os, signal, sys
from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from dibs.services.commits import gate
from dibs.services.commits.values import CommitRequest

def reach(step):
    if step == sys.argv[2]:
        gate.reach = lambda step: None
        os.kill(os.getpid(), signal.SIGSTOP)

gate.reach = reach
open_project(sys.argv[1], {}).commits.commit(Caller("alice"), CommitRequest("by alice"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_stopped_commit_leaves_no_staged_files_when_another_takes_over(world, monkeypatch, step):
    monkeypatch.setattr(index, "STOPPED", 0.1)
    monkeypatch.setattr(gate, "TURN", 0.1)
    world.claim(ALICE, "src/one.py")
    world.put("src/one.py", "by alice\n")
    world.claim(BOB, "src/two.py")
    world.put("src/two.py", "by bob\n")
    process = subprocess.Popen([sys.executable, "-c", STOPPING, world.root, step])
    os.waitpid(process.pid, os.WUNTRACED)

    world.committed(BOB, "by bob")

    assert world.git("show", "HEAD:src/two.py") == "by bob"
    landed = world.git("show", "HEAD:src/one.py") == "by alice"
    assert landed == (step in {"moved", "followed"})
    assert world.git("diff", "--cached", "--name-only") == "plain.txt"
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    assert world.git("show", "HEAD:src/one.py") == "by alice"
    assert world.git("show", "HEAD:src/two.py") == "by bob"
    assert world.git("diff", "--cached", "--name-only") == "plain.txt"
    assert world.dirty() == {"A  plain.txt"}
