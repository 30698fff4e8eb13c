"""Orchestrators killed before any of their writes: the next one finishes, and nothing is done twice."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.core.tasks.rules import Handoff
from dibs.project.project import open_project
from dibs.services.board.orchestrator import Orchestrator
from dibs.services.state.ledger import Ledger, Query
from dibs.services.tasks.values import Draft

ROOT = Path(__file__).parents[3]
BOSS = Caller("boss", "human")

#: Runs a cycle and is killed before write number N: of a file, of a transaction, or by a git process.
PROGRAM = """
import os, signal, sys
from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from dibs.services.state.store import Store
from dibs.services.board.orchestrator import Orchestrator

root, at = sys.argv[1], int(sys.argv[2])
count, armed = 0, False

def reach():
    global count
    if armed:
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

def hook(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        reach()
    elif event in {"os.rename", "os.remove", "os.mkdir", "os.link", "subprocess.Popen"}:
        reach()

def apply(self, step, apply=Store.apply):
    reach()
    answer = apply(self, step)
    reach()
    return answer

Store.apply = apply
sys.addaudithook(hook)
project = open_project(root, {})
state = project.place.repository.state
orchestrator = Orchestrator(project.store, project.board, state)
armed = True
orchestrator.cycle(Caller("orch"))
print(count)
"""


def cycle_killed(root, at):
    """Run a cycle that is killed before its write number ``at``; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root), str(at)],
        capture_output=True, text=True, check=False, cwd=root, timeout=60,
        env={"PYTHONPATH": f"{ROOT}/src", "PATH": os.environ["PATH"], "HOME": str(root)},
    )  # fmt: skip
    assert done.returncode in {0, -9}, done.stderr
    return done.stdout.strip()


def prepare(root):
    """Create a board on which a cycle has to assign, hand off, and accept a new file."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "dibs.toml").write_text("[board]\ncommit = true\n")
    (root / "code.py").write_text("mine\n")
    git(root, "add", "dibs.toml")
    git(root, *NAMED, "commit", "-q", "-m", "first")
    git(root, "add", "code.py")
    project = open_project(str(root), {})
    drafts = [Draft({"title": name, "agent": "ann"}, id=name) for name in ("source", "fresh")]
    with project.board.command(BOSS, makes=True):
        project.tasks.create(BOSS, drafts)
        project.tasks.start(Caller("ann"), "source")
        project.tasks.done(Caller("ann"), "source", summary="x", handoff=Handoff("ann", "Go on"))
    project.close()
    (root / "work/inbox/dropped.yaml").write_text("title: dropped # by hand\nagent: ann\n")


NAMED = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_orchestrators_killed_at_any_time_do_everything_once(tmp_path):
    prepare(tmp_path / "whole")
    writes = int(cycle_killed(tmp_path / "whole", 0))
    assert writes > 30

    for at in range(1, writes + 1, effort(writes // 5, 1)):
        root = tmp_path / f"at-{at}"
        prepare(root)
        cycle_killed(root, at)

        told = finished(root)
        assert told["handoff_created"] == 1, at
        assert told["task_assigned"] == 3, at
        files = [p.relative_to(root / "work") for p in (root / "work").rglob("*.yaml")]
        places = {p.name: p.parent.as_posix() for p in files}
        assert len(files) == 4, at
        assert sorted(places.values()) == ["assigned/ann"] * 3 + ["done"], at
        assert "# by hand" in (root / "work/assigned/ann/dropped.yaml").read_text()
        pages = root / "work/collaboration"
        assert (pages / "HANDOFFS.md").read_text().count("\n## ") == 1, at
        rows = git(root, "status", "--porcelain", "-uall").splitlines()
        assert [row for row in rows if ".dibs-" not in row] == ["A  code.py"], at
        assert git(root, "diff", "--name-only", "HEAD", "--", "work") == ""


def finished(root):
    """Run the following cycles; return how often each kind is in the ledger."""
    project = open_project(str(root), {})
    state = project.place.repository.state
    try:
        for _ in range(2):  # a follow-up is assigned by the next cycle
            Orchestrator(project.store, project.board, state).cycle(BOSS)
        return Counter(entry.kind for entry in Ledger(project.store).newest(Query(), 10_000))
    finally:
        project.close()
