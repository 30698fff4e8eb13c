"""An agent that lost its claim cannot commit: after a pause, a revocation, or a takeover."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from proof_commit_judge import AUTHOR, git, history, left_over, soundness
from proof_commits import is_commit
from proof_crew import Repo, environment, eventually
from proof_machines import Machine, machines, one_line
from tests.servers import GitRemote
from tests.soak import effort

from dibs.core.claims.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

JOBS = str(Path(__file__).with_name("proof_commits.py"))
HELD, FENCED = 3, 4


def head(repo: Path) -> str:
    """Return the checked-out commit."""
    return git(repo, "rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def tree(repo: Repo) -> Repo:
    """Return a repository with a first commit."""
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "first")
    return repo


def variables_of(tree: Repo) -> str:
    """Return the settings for a job."""
    return json.dumps(tree.variables if isinstance(tree, Machine) else {})


class Paused:
    """A process that has changed a file it holds, and is paused while committing it."""

    def __init__(self, tree: Repo, step: str, ttl: str = "5") -> None:
        words = ["pause", str(tree.path), variables_of(tree), "sleeper", step, ttl]
        self.locked: list[bool] = []
        self.process = subprocess.Popen(
            [sys.executable, JOBS, *words], env=environment(), stdout=subprocess.PIPE, text=True
        )
        eventually(f"it stops at {step}", lambda: _is_stopped(self.process))

    def wake(self) -> str:
        """Resume it; return its result."""
        os.kill(self.process.pid, signal.SIGCONT)
        out, _ = self.process.communicate(timeout=60)
        told = json.loads(out)
        self.locked = told["locked"]
        said: str = told["said"]
        return said

    def __enter__(self) -> Paused:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def _is_stopped(process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, "it has ended before it stopped"
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def successor(tree: Repo, path: str = "src/x.py") -> None:
    """Take over the paused process's file, or another one, change it, and commit it."""
    done = subprocess.run(
        [sys.executable, JOBS, "succeed", str(tree.path), variables_of(tree), path],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said = json.loads(done.stdout)["said"]
    assert is_commit(said), said


@pytest.mark.parametrize("step", effort(["intent"], ["before", "prepared", "intent", "moving"]))
@pytest.mark.parametrize("loss", ["expiry", "revocation"])
def test_an_owner_paused_past_the_expiry_of_its_claim_is_fenced(tree: Repo, step: str, loss: str):
    with Paused(tree, step) as sleeper:
        if loss == "revocation":
            revoked = tree.dibs("revoke", "src/x.py", "--reason", "late")
            assert revoked.returncode == 0, revoked
        successor(tree)
        (tree.path / "src/x.py").write_text("edited on\n")
        landed = head(tree.path)

        said = sleeper.wake()

    assert said.startswith("FENCED: ")
    assert head(tree.path) == landed
    assert (tree.path / "src/x.py").read_text() == "edited on\n", "the working tree is unchanged"
    assert [commit.agent for commit in history(tree.path)][1:] == ["successor"]
    entries = [e for e in tree.ledger() if e.kind == Kind.COMMITTED]
    assert [e.agent for e in entries] == ["successor"]
    assert soundness(tree.path) == []


@pytest.mark.parametrize("step", effort(["followed"], ["moved", "followed"]))
def test_a_commit_made_before_the_pause_is_reported_once_and_stays(tree: Repo, step: str):
    with Paused(tree, step) as sleeper:
        assert tree.dibs("revoke", "src/x.py", "--reason", "late").returncode == 0
        successor(tree)

        said = sleeper.wake()

    commits = history(tree.path)[1:]
    assert [commit.agent for commit in commits] == ["sleeper", "successor"]
    assert said == commits[0].id
    entries = [e for e in tree.ledger() if e.kind == Kind.COMMITTED]
    assert [(e.agent, e.details["commit"]) for e in entries] == [
        (commit.agent, commit.id) for commit in commits
    ]
    assert git(tree.path, "status", "--porcelain").stdout == ""
    assert soundness(tree.path) == []


@pytest.mark.parametrize("step", effort(["moving"], ["prepared", "intent", "moving"]))
def test_an_agent_paused_with_gits_lock_blocks_no_one_and_commits_when_it_resumes(
    tree: Repo, step: str
):
    with Paused(tree, step, ttl="300") as sleeper:
        successor(tree, "src/y.py")

        said = sleeper.wake()

    commits = history(tree.path)[1:]
    assert [commit.agent for commit in commits] == ["successor", "sleeper"]
    assert said == commits[1].id
    assert sleeper.locked[-1], "the branch moves only under git's own lock"
    assert git(tree.path, "status", "--porcelain").stdout == ""
    assert soundness(tree.path) == []
    assert left_over(tree.path) == []


@pytest.fixture(params=effort(["postgres"], ["redis", "postgres", "git"]))
def clones(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Machine]]:
    """Return two clones of one repository that share a store."""
    if request.param in ("redis", "postgres"):
        url = request.getfixturevalue(f"{request.param}_url")
        yield machines(tmp_path, url, 2, **AUTHOR)
    else:
        with GitRemote(tmp_path / "remote") as remote:
            yield machines(tmp_path, f"git:{remote.path}", 2, DIBS_GIT_POLL="1s", **AUTHOR)


def test_two_clones_commit_with_claims_from_one_store(clones: list[Machine]):
    here, there = clones
    first = here.token("src/x.py", agent="left")
    for clone in clones:
        (clone.path / "src/x.py").write_text(f"{clone.path}\n")
    start = head(there.path)

    refused = there.dibs("commit", "-m", "mine", "src/x.py", agent="right")
    assert refused.returncode == HELD, refused
    assert "left" in refused.stdout + refused.stderr
    assert head(there.path) == start

    assert here.dibs("commit", "-m", "mine", agent="left").returncode == 0
    assert here.dibs("revoke", "src/x.py", "--reason", "moved on").returncode == 0
    second = there.token("src/x.py", agent="right")
    done = there.dibs("commit", "-m", "mine", agent="right")
    assert done.returncode == 0, done
    assert [c.tokens for clone in clones for c in history(clone.path)[1:]] == [[first], [second]]
    assert first < second

    (here.path / "src/x.py").write_text("late\n")
    landed = head(here.path)
    one_line(here.dibs("commit", "-m", "late", "src/x.py", agent="left"), FENCED)
    assert head(here.path) == landed
    assert (here.path / "src/x.py").read_text() == "late\n"
    told = [e.details["commit"] for e in there.ledger() if e.kind == Kind.COMMITTED]
    assert told == [landed, head(there.path)], "both clones tell one ledger"
    assert [soundness(clone.path) for clone in clones] == [[], []]


def test_an_owner_paused_in_one_clone_is_fenced_by_a_new_owner_in_another(clones: list[Machine]):
    here, there = clones
    with Paused(here, "before") as sleeper:
        assert there.dibs("revoke", "src/x.py", "--reason", "late").returncode == 0
        successor(there)
        start = head(here.path)

        said = sleeper.wake()

    assert said.startswith("FENCED: ")
    assert not is_commit(said)
    assert head(here.path) == start
    assert (here.path / "src/x.py").read_text() == "sleeper\n"
