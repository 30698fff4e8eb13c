"""The gate: after a kill or pause at any point, the branch is old or new and the ledger agrees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import product

import pytest
from tests.services.commit_world import ALICE, BOB, World
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.errors import Fenced, Unavailable
from dibs.services.commits import gate
from dibs.services.commits import land as commit_landing
from dibs.services.commits.doctor import GitCare
from dibs.services.commits.gate import Passage, RefMoved

pytestmark = pytest.mark.usefixtures("own_git")

CAROL = Caller("carol")
STEPS = ("prepared", "intent", "published", "moving", "moved", "followed")
#: Commits as one agent, and dies when it reaches a step.
CHILD = """
import os, signal, sys
from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from dibs.services.commits import gate
from dibs.services.commits.values import CommitRequest

root, agent, last = sys.argv[1:]

def reach(step):
    if step == last:
        os.kill(os.getpid(), signal.SIGKILL)

gate.reach = reach
open_project(root, {}).commits.commit(Caller(agent), CommitRequest(f"by {agent}"))
"""


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "tree")
    for agent in (ALICE, BOB, CAROL):
        world.claim(agent, f"{agent.id}.txt")
        world.put(f"{agent.id}.txt", f"{agent.id}'s work\n")
    return world


def die(world, agent, step):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, world.root, agent.id, step], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def agrees(world):
    """Check that git, index, and ledger agree."""
    history = world.git("log", "--format=%H %s").splitlines()
    landed = {row.partition(" ")[0] for row in history if " by " in row or " last" in row}
    told = [event.details["commit"] for event in world.ledger()]
    assert sorted(told) == sorted(landed)
    assert world.rows("intent/") == {}
    assert not os.path.exists(os.path.join(world.root, ".git/index.lock"))
    assert world.git("fsck", "--no-dangling") == ""
    for agent in (ALICE, BOB, CAROL):
        path = f"{agent.id}.txt"
        assert world.read(path) == f"{agent.id}'s work\n"
        in_head = world.git("ls-tree", "HEAD", path)
        assert (world.git("status", "--porcelain", path) == "") == bool(in_head), path


@pytest.mark.parametrize("age", [10, 600])
def test_an_old_lock_of_a_dead_git_on_the_fence_is_moved_away(world, age):
    die(world, ALICE, "intent")
    lock = os.path.join(world.root, ".git/refs/dibs/gate.lock")
    os.makedirs(os.path.dirname(lock), exist_ok=True)
    with open(lock, "w", encoding="ascii"):
        moment = time.time() - age
    os.utime(lock, (moment, moment))

    if age < 60:
        with pytest.raises(Unavailable, match=r"gate\.lock") as refusal:
            world.commit(BOB)
        assert refusal.value.code == "GIT_LOCKED"
        os.unlink(lock)
    world.committed(BOB, "last")

    agrees(world)


@pytest.mark.slow
@pytest.mark.parametrize("step", effort(STEPS[1::3], STEPS))
def test_killed_at_any_step_the_branch_is_old_or_new_and_the_ledger_agrees(world, step):
    die(world, ALICE, step)
    landed = bool(world.git("ls-tree", "HEAD", "alice.txt"))
    assert landed == (step in {"moved", "followed"})
    world.committed(CAROL, "last")
    agrees(world)
    if not landed:
        world.committed(ALICE, "last")
        agrees(world)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    effort([("intent", "moving"), ("moved", "intent")], list(product(STEPS, STEPS))),
)
def test_a_third_process_resolves_two_killed_ones(world, first, second):
    die(world, ALICE, first)
    die(world, BOB, second)
    world.committed(CAROL, "last")
    agrees(world)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["fenced", "settling"])
@pytest.mark.parametrize("first", effort(("moving",), STEPS[1:]))
def test_a_killed_recovery_is_resolved_in_turn(world, first, step):
    die(world, ALICE, first)
    die(world, BOB, step)
    world.committed(CAROL, "last")
    agrees(world)


def test_recovery_reports_what_it_did_and_does_it_once(world):
    die(world, ALICE, "moved")
    own = world.project.gate
    (line,) = own.recover()
    assert "finished the interrupted commit" in line
    assert own.recover() == []
    agrees(world)


def test_doctor_reports_an_unfinished_commit_and_resolves_it_with_fix(world):
    die(world, ALICE, "moved")
    care = GitCare(world.project.place.repository, world.project.gate)
    (told,) = [finding for finding in care.inspect() if finding.what == "git commit"]
    assert "a commit by alice to main started " in told.text
    assert len(world.rows("intent/")) == 1

    (line,) = care.repair()
    assert "finished the interrupted commit" in line
    assert care.inspect() == []
    agrees(world)


def test_doctor_continues_if_an_unfinished_commit_cannot_be_resolved(world):
    die(world, ALICE, "moved")
    world.put(".git/strange", "")
    lock = os.path.join(world.root, ".git", "index.lock")
    os.replace(os.path.join(world.root, ".git", "strange"), lock)  # the lock of another git
    care = GitCare(world.project.place.repository, world.project.gate)
    (line,) = care.repair()
    assert line.startswith("cannot resolve an unfinished commit now: ")
    assert [finding.what for finding in care.inspect()] == ["git commit"]

    os.unlink(lock)
    assert "finished" in care.repair()[0]
    agrees(world)


# -- paused


def passing(world, agent, ref="refs/heads/main"):
    """Return an agent's passage, built outside the tree."""
    path = f"{agent.id}.txt"
    old = world.git("rev-parse", ref)
    oid = world.git("hash-object", "-w", path)
    listing = world.git("ls-tree", old) + f"\n100644 blob {oid}\t{path}\n"
    tree = world.git("mktree", given=listing.encode())
    new = world.git("commit-tree", "-p", old, "-m", f"by {agent.id}", tree)
    return Passage("commit", ref, old, new, "", (path,), f"by {agent.id}", {})


def land(world, agent, passage):
    from dibs.services.commits.scope import standing, still_covered

    own = world.project.store.look(lambda rows: standing(rows, agent.id).own)
    return world.project.gate.land(
        agent, passage, lambda rows: still_covered(rows, agent.id, own, passage.paths)
    )


def at(monkeypatch, step, act):
    """Run ``act`` once, when a step is reached."""
    done = []

    def reach(reached):
        if reached == step and not done:
            done.append(step)
            act()

    monkeypatch.setattr(gate, "reach", reach)


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(gate, "TURN", 0.02)  # a paused process holds the turn; do not wait for it
    monkeypatch.setattr(commit_landing, "PATIENCE", 0.05)


def test_a_process_paused_before_the_ref_moves_cannot_undo_other_commits(world, monkeypatch, hasty):
    mine, theirs = passing(world, ALICE), passing(world, BOB)
    at(monkeypatch, "moving", lambda: land(world, BOB, theirs))
    with pytest.raises(RefMoved):
        land(world, ALICE, mine)
    assert world.head() == theirs.new
    assert [event.agent for event in world.ledger()] == ["bob"]
    assert world.rows("intent/") == {}


def test_a_process_presumed_dead_lands_only_with_valid_claims(world, monkeypatch, hasty):
    world.git("branch", "side")
    mine, theirs = passing(world, ALICE), passing(world, BOB, "refs/heads/side")
    at(monkeypatch, "moving", lambda: land(world, BOB, theirs))
    land(world, ALICE, mine)
    assert world.head() == mine.new  # the fence stopped it once, and its claims let it begin again
    assert sorted(event.agent for event in world.ledger()) == ["alice", "bob"]


def test_a_process_presumed_dead_that_lost_its_claim_is_fenced(world, monkeypatch, hasty):
    world.git("branch", "side")
    mine, theirs = passing(world, ALICE), passing(world, BOB, "refs/heads/side")

    def meanwhile():
        human = Caller("ann", "human")
        pattern = world.project.pattern("alice.txt")
        world.project.holdings.revoke(human, pattern, reason="it hangs")
        world.claim(BOB, "alice.txt")
        land(world, BOB, theirs)

    at(monkeypatch, "moving", meanwhile)
    with pytest.raises(Fenced):
        land(world, ALICE, mine)
    assert world.head() == mine.old
    assert world.read("alice.txt") == "alice's work\n"


@pytest.mark.parametrize("step", ["intent"])
def test_a_process_delayed_past_half_its_ttl_is_fenced_and_keeps_its_edits(
    world, monkeypatch, step
):
    late = [0.0]
    monkeypatch.setattr(gate, "machine_clock", lambda: late[0])
    at(monkeypatch, step, lambda: late.append(late.pop() + 151.0))
    head, index = world.head(), world.index()
    with pytest.raises(Fenced):
        world.commit(ALICE)
    assert (world.head(), world.index()) == (head, index)
    assert world.rows("intent/") == {}
    assert world.read("alice.txt") == "alice's work\n"
    monkeypatch.undo()
    world.committed(ALICE)


def test_a_claim_that_was_lost_and_claimed_again_does_not_count(world, monkeypatch):
    def meanwhile():
        world.project.holdings.release(ALICE)
        world.claim(ALICE, "alice.txt")

    at(monkeypatch, "prepared", meanwhile)
    with pytest.raises(Fenced):
        world.commit(ALICE)
    assert not world.ledger()


# -- alongside plain git


def test_our_commit_lands_on_top_of_a_concurrent_git_commit(world, monkeypatch):
    tree = world.git("rev-parse", "HEAD^{tree}")
    other = world.git("commit-tree", "-p", "HEAD", "-m", "plain", tree)
    at(monkeypatch, "prepared", lambda: world.git("update-ref", "refs/heads/main", other))
    world.committed(ALICE)
    assert world.git("log", "--format=%s").splitlines() == ["work", "plain", "first"]
    assert world.files() == {"alice.txt"}
    assert "?? bob.txt" in world.dirty()


def test_a_plain_git_commit_to_a_claimed_path_is_a_conflict(world, monkeypatch):
    theirs = passing(world, ALICE)
    world.put("alice.txt", "later\n")
    at(monkeypatch, "prepared", lambda: world.git("update-ref", "refs/heads/main", theirs.new))
    with pytest.raises(Unavailable) as conflict:
        world.commit(ALICE)
    assert conflict.value.code == "CONFLICT"
    assert "alice.txt" in conflict.value.message
    assert world.head() == theirs.new
    assert world.read("alice.txt") == "later\n"


def test_a_foreign_lock_is_reported_and_never_removed(world, hasty):
    lock = os.path.join(world.root, ".git/index.lock")
    with open(lock, "w", encoding="utf-8"):
        pass
    head = world.head()
    with pytest.raises(Unavailable) as busy:
        world.commit(ALICE)
    assert busy.value.code == "GIT_LOCKED"
    assert "index.lock" in busy.value.message
    assert os.path.exists(lock)
    assert world.head() == head
    os.unlink(lock)
    world.committed(ALICE)


@pytest.mark.slow
def test_a_locked_branch_is_reported_and_nothing_is_committed(world):
    lock = os.path.join(world.root, ".git/refs/heads/main.lock")
    with open(lock, "w", encoding="ascii"):
        pass
    head = world.head()
    with pytest.raises(Unavailable) as locked:
        world.commit(ALICE)
    assert locked.value.code == "GIT_LOCKED"
    assert lock in locked.value.message
    assert os.path.exists(lock)
    assert world.head() == head
    assert world.rows("intent/") == {}


def test_six_processes_commit_at_once_and_all_land(world):
    program = "from dibs.cli import program; program()"
    agents = [f"worker-{number}" for number in range(6)]
    for agent in agents:
        world.claim(Caller(agent), f"{agent}/")
        for number in range(3):
            world.put(f"{agent}/{number}", "1\n")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, "commit", "-m", f"by {agent}", "--agent", agent],
            cwd=world.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for agent in agents
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 6, said
    for agent in agents:
        (commit,) = world.git("log", "--format=%H", f"--grep=^by {agent}$").split()
        assert world.files(commit) == {f"{agent}/{number}" for number in range(3)}
    assert world.dirty() == {"?? alice.txt", "?? bob.txt", "?? carol.txt"}
