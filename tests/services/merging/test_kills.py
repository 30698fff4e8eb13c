"""Killed and concurrent merges: the branch is old or new, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from threading import Thread

import psutil
import pytest
from tests.services.merge_yard import git
from tests.services.several_agents import caller
from tests.soak import effort

from dibs.services.merging import queue as merge_queue
from dibs.services.merging.queue import Lease, QueueTimeout, at_head

pytestmark = pytest.mark.usefixtures("own_git")

#: Runs a merge that is killed when it reaches a step for the n-th time.
DYING = """
import os, signal, sys
from dibs.cli import main
from dibs.git import update_tree as forward
from dibs.services.commits import gate
from dibs.services.merging import batch as merge_batch
from dibs.services.merging import queue as merge_queue

step, times, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
merge_queue.LASTS = float(os.environ.get("LASTS", "1"))

def reach(name):
    global times
    if name == step:
        times -= 1
        if times == 0:
            os.kill(os.getpid(), signal.SIGKILL)

gate.reach = merge_batch.reach = forward.reach = reach
sys.exit(main(words))
"""
STEPS = [
    ("chained", 1), ("tried", 1), ("intent", 1), ("moving", 1), ("moved", 1), ("forward-made", 1),
    ("forward-file", 1), ("forward-file", 2), ("forward-file", 3), ("forward-index", 1),
    ("followed", 1), ("landed", 1),
]  # fmt: skip


def dying(yard, step, times, *words):
    """Run ``dibs merge`` in a process that dies at a step; return its exit status."""
    argv = [
        sys.executable,
        "-c",
        DYING,
        step,
        str(times),
        "merge",
        *words,
        "--repo",
        str(yard.main),
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def check_agreement(yard):
    """Assert that the ledger has exactly the merges that the branch has."""
    landed = git(yard.main, "rev-list", "--merges", "--first-parent", "main").split()
    told = [entry.details["commit"] for entry in yard.entries("merge")]
    assert sorted(told) == sorted(landed)
    listed = yard.project.store.look(
        lambda rows: [key for key, _ in rows.txn.scan(("intent/", ""))]
    )
    assert listed == []
    assert git(yard.main, "status", "--porcelain") == ""
    litter = [n for n in os.listdir(yard.main / ".git") if n.startswith("dibs-") or ".lock" in n]
    assert litter == []
    trees = yard.main / ".git" / "dibs" / "merge-trees"
    assert not trees.exists() or os.listdir(trees) == []
    assert git(yard.main, "worktree", "list").count("merge-") == 0


@pytest.mark.parametrize(("step", "times"), effort(STEPS[::4], STEPS))
def test_a_merge_that_is_killed_leaves_the_branch_old_or_new(yard, step, times):
    yard.work("bob", {"a.txt": "of bob\n", "new/n.txt": "new\n", "b.txt": None})
    yard.work("eve", {"c.txt": "of eve\n"})
    old = yard.tip()

    died = dying(yard, step, times, "agent/bob", "--agent", "bob", "--test", "true")
    assert died.returncode == -9, died
    now = yard.tip()
    assert now == old or git(yard.main, "rev-parse", "main^2") == yard.tip("agent/bob")

    report = yard.merge("eve", wait=30)  # the queue is free when the dead process's claim expires

    assert report.fine, report
    check_agreement(yard)
    assert yard.read("c.txt") == "of eve\n"
    if now != old:
        assert (yard.read("a.txt"), yard.read("new/n.txt")) == ("of bob\n", "new\n")
        assert not (yard.main / "b.txt").exists()
    else:
        assert (yard.read("a.txt"), yard.read("b.txt")) == ("a\n", "b\n")
    assert yard.merge("bob").fine
    check_agreement(yard)


def queue_of(yard):
    held = yard.project.claims.all()[0]
    return [one for one in held if one.claim.pattern == "@merge/main"]


@pytest.mark.parametrize("wait", [0, 30])
def test_a_killed_merge_on_this_machine_does_not_block_the_queue(yard, monkeypatch, wait):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    monkeypatch.setenv("LASTS", "3600")
    assert dying(yard, "chained", 1, "agent/bob", "--agent", "bob").returncode == -9
    (held,) = queue_of(yard)
    assert held.expires_in > 60

    assert yard.merge("eve", wait=wait).fine

    assert [entry.agent for entry in yard.entries("lock_expired")] == ["bob"]


def test_a_merge_killed_while_another_waits_is_noticed(yard, monkeypatch):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    monkeypatch.setenv("LASTS", "3600")
    ready = yard.folder / "ready"
    argv = [sys.executable, "-c", DYING, "never", "1", "merge", "agent/bob", "--agent", "bob"]
    test = f"sh -c 'touch {ready}; sleep 60'"
    merging = subprocess.Popen([*argv, "--test", test, "--repo", str(yard.main)])
    while not ready.exists():
        assert merging.poll() is None
    waiting = Thread(target=lambda: reports.append(yard.merge("eve", wait=60)))
    reports = []
    waiting.start()
    while "eve" not in [waiter.ticket.agent for waiter in yard.project.claims.all()[1]]:
        pass
    assert [held.claim.agent for held in queue_of(yard)] == ["bob"]

    merging.kill()

    merging.wait()
    waiting.join(30)
    assert reports[0].fine


def test_a_merge_killed_before_its_first_heartbeat_blocks_the_queue_only_briefly(yard, monkeypatch):
    yard.work("bob", {"a.txt": "of bob\n"})
    killed = RuntimeError("killed")

    def die(_):
        raise killed

    monkeypatch.setattr(Lease, "renew", die)
    monkeypatch.setattr(Lease, "release", lambda _: None)
    with pytest.raises(RuntimeError):
        yard.merge("bob")

    (held,) = queue_of(yard)
    assert held.claim.hard - held.claim.since == merge_queue.LASTS <= 10


def test_the_queue_of_a_running_merge_is_not_ended_by_a_waiter(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    project = yard.project
    state, store = project.place.repository.state, project.store
    with at_head(store, caller("bob"), "main", state=state, wait=0, progress=print):
        with pytest.raises(QueueTimeout):
            yard.merge("eve", wait=0)
        with pytest.raises(QueueTimeout):
            yard.merge("eve", wait=2)

    assert yard.merge("eve").fine


def test_another_machines_claim_is_not_ended_because_of_an_old_lock_file(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    yard.work("eve", {"b.txt": "of eve\n"})
    assert yard.merge("bob").fine  # leaves a lock file that nobody holds
    project = yard.project
    elsewhere = str(yard.folder / "elsewhere")
    taken = at_head(project.store, caller("bob"), "main", state=elsewhere, wait=0, progress=print)
    with taken, pytest.raises(QueueTimeout):
        yard.merge("eve", wait=0)


def test_edits_made_after_a_kill_are_kept(yard):
    yard.work("bob", {"a.txt": "of bob\n", "b.txt": "of bob\n"})
    assert dying(yard, "moved", 1, "agent/bob", "--agent", "bob").returncode == -9
    (yard.main / "a.txt").write_text("mine, written meanwhile\n")

    yard.project.gate.recover()

    assert yard.read("a.txt") == "mine, written meanwhile\n"
    assert yard.read("b.txt") == "of bob\n"
    assert git(yard.main, "status", "--porcelain").split() == ["M", "a.txt"]


def test_a_killed_merge_does_not_prevent_a_commit(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    dying(yard, "intent", 1, "agent/bob")
    assert (yard.main / ".git" / "index.lock").exists()
    (yard.main / "b.txt").write_text("of ann\n")

    report = yard.merge("", "agent/bob", test="true", wait=5)

    assert yard.ends(report) == {"agent/bob": "dirty"}
    git(yard.main, "commit", "-qam", "ann")
    assert yard.merge("", "agent/bob", test="true").fine


def test_a_killed_test_runs_tree_is_removed_by_the_next_merge(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    test = f"sh -c 'kill -9 $PPID; touch {yard.folder}/ran'"
    killed = dying(yard, "never", 1, "agent/bob", "--agent", "bob", "--test", test)
    assert killed.returncode == -9
    while not (yard.folder / "ran").exists():
        pass
    assert len(os.listdir(yard.main / ".git" / "dibs" / "merge-trees")) == 1

    assert yard.merge("bob", wait=120).fine
    check_agreement(yard)


def test_concurrent_merges_all_land_one_after_the_other(yard):
    names = [f"w{number}" for number in range(6)]
    for name in names:
        yard.work(name, {f"{name}.txt": "x\n"})
    program = [sys.executable, "-m", "dibs", "merge", "--repo", str(yard.main), "--agent"]
    running = [subprocess.Popen([*program, name], stdout=subprocess.DEVNULL) for name in names]

    assert [process.wait() for process in running] == [0] * len(names)

    check_agreement(yard)
    assert all((yard.main / f"{name}.txt").exists() for name in names)


def test_two_merges_of_one_agent_take_turns(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    git(yard.main, "branch", "other", "agent/bob")
    marks = yard.folder / "marks"
    test = f"sh -c 'echo in >> {marks}; sleep 0.3; echo out >> {marks}'"
    program = [sys.executable, "-m", "dibs", "merge", "--repo", str(yard.main), "--test", test]
    running = [
        subprocess.Popen([*program, name, "--agent", "bob"], stdout=subprocess.DEVNULL)
        for name in ("agent/bob", "other")
    ]

    assert [process.wait() for process in running] == [0, 0]

    assert marks.read_text().split() in (["in", "out"], ["in", "out"] * 2)
    check_agreement(yard)


def test_a_merge_that_lost_the_queue_lands_nothing(yard):
    yard.work("bob", {"a.txt": "of bob\n"})
    before = yard.tip()
    script = yard.folder / "revoke.py"
    script.write_text(
        "from dibs.project.project import open_project\nfrom dibs.core.claims.agents import Caller\n"
        f"p = open_project({str(yard.main)!r})\n"
        "p.holdings.revoke(Caller('hana', 'human'), p.pattern('@merge/main'), reason='stop')\n"
        "p.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "merge", "--agent", "bob", "--repo", str(yard.main),
         "--test", f"{sys.executable} {script}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 4, done
    assert yard.tip() == before
    assert yard.read("a.txt") == "a\n"


def gone_at_last(pid):
    """Wait until a killed process has ended; its new parent may take long to reap it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:  # the test's limit ends it
            time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_terminated_merge_leaves_nothing_behind(yard, number):
    yard.work("bob", {"a.txt": "of bob\n"})
    before = yard.tip()
    mark = yard.folder / "pid"
    merge = subprocess.Popen(
        [sys.executable, "-m", "dibs", "merge", "--agent", "bob", "--repo", str(yard.main),
         "--test", f"sh -c 'echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 60'"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not mark.exists():
        assert merge.poll() is None

    merge.send_signal(number)

    assert merge.wait() == 128 + number
    gone_at_last(int(mark.read_text()))
    assert yard.tip() == before
    assert not [h for h in yard.project.claims.all()[0] if h.claim.pattern.startswith("@")]
    check_agreement(yard)
