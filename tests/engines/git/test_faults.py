"""Faults of a git remote, with real git: guarantees hold, and unknown is never reported as anything else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from tests.engines.git.conftest import git

from dibs.engines.git.remote import PushOutcome, Remote
from dibs.errors import Misconfigured, Unavailable, Unknown
from dibs.testing.steps import entries, increment


def hook(bare, name, text):
    path = bare / "hooks" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


class TestPushing:
    def test_a_lost_reply_after_the_effect_is_detected(self, machine, bare):
        engine = machine()
        engine.transact(increment)
        lost = hook(bare, "reference-transaction", "[ $1 != committed ] || kill -9 $PPID")

        number = engine.transact(increment)
        lost.unlink()

        assert engine.transact(increment) == number + 1
        assert machine("other").view(lambda txn: txn.get("count")) == "3"

    def test_a_push_that_the_remote_refuses_changes_nothing_and_says_why(self, machine, bare):
        engine = machine()
        engine.transact(increment)
        refusing = hook(bare, "pre-receive", "echo no such luck >&2; exit 1")

        with pytest.raises(Misconfigured) as caught:
            engine.transact(increment)

        assert caught.value.code == "REMOTE_REFUSED"
        assert engine.view(lambda txn: txn.get("count")) == "1"
        refusing.unlink()
        assert engine.transact(increment) == 2

    def test_a_remote_that_disappears_after_the_effect_leaves_the_outcome_unknown(
        self, machine, bare, tmp_path
    ):
        engine = machine(timeout=3.0)
        engine.transact(increment)
        away = tmp_path / "away.git"
        text = f"[ $1 != committed ] || {{ mv {bare} {away}; kill -9 $PPID; }}"
        going = hook(bare, "reference-transaction", text)

        with pytest.raises(Unknown):
            engine.transact(increment)

        assert engine.view(lambda txn: txn.get("count")) == "1"  # as last known
        assert engine.as_of is not None
        os.rename(away, bare)
        going.unlink()
        assert engine.view(lambda txn: txn.get("count")) == "2"  # settled by the next contact
        assert engine.as_of is None
        assert engine.transact(increment) == 3

    def test_a_remote_that_disappears_before_the_effect_means_nothing_happened(
        self, machine, bare, tmp_path
    ):
        engine = machine(timeout=3.0)
        engine.transact(increment)
        os.rename(bare, tmp_path / "away.git")

        with pytest.raises(Unavailable):
            engine.transact(increment)

        os.rename(tmp_path / "away.git", bare)
        assert engine.view(lambda txn: txn.get("count")) == "1"
        assert engine.transact(increment) == 2

    def test_two_machines_that_race_both_succeed(self, machine):
        ours, theirs = machine("a"), machine("b")
        ours.transact(increment)
        theirs.view(lambda txn: None)
        for _ in range(3):
            ours.transact(increment)
            theirs.transact(increment)

        assert ours.view(lambda txn: txn.get("count")) == "7"


def test_a_push_that_timed_out_but_lands_later_happens_once(machine, bare):
    engine = machine(timeout=4.0)
    engine.transact(increment)
    slow = hook(bare, "pre-receive", "sleep 3.2")

    try:
        engine.transact(increment)
        told = True
    except Unknown:
        told = False
    slow.unlink()
    time.sleep(4.0)

    count = machine("other").view(lambda txn: txn.get("count"))
    assert count == "2" if told else count in ("1", "2")
    engine.transact(increment)
    assert len(entries(machine("other"))) == int(count) + 1


def test_an_abandoned_lock_file_is_removed_but_a_recent_one_is_not(machine, bare):
    engine = machine(timeout=2.0)
    engine.transact(increment)
    lock = bare / "refs" / "heads" / "dibs.lock"
    lock.touch()

    with pytest.raises(Unavailable):
        engine.transact(increment)

    assert lock.exists()
    os.utime(lock, (time.time() - 61, time.time() - 61))
    assert engine.transact(increment) == 2
    assert not lock.exists()


@pytest.mark.parametrize("name", ["remote.77.ff36cd4f", "remote.lock"])
def test_remains_of_a_killed_git_among_our_refs_block_no_one(machine, tmp_path, name):
    engine = machine()
    engine.transact(increment)
    (tmp_path / "here" / "repo" / "refs" / "dibs" / name).touch()
    machine("other").transact(increment)

    assert engine.transact(increment) == 3


WORKER = """
import sys
from dibs.engines.git.engine import GitEngine
from dibs.testing.steps import increment
engine = GitEngine(sys.argv[1], state=sys.argv[2], timeout=60.0)
print("ready", flush=True)
for _ in range(int(sys.argv[3])):
    print(engine.transact(increment), flush=True)
"""


@pytest.mark.slow
def test_clients_killed_at_random_lose_nothing_that_was_confirmed(machine, bare, tmp_path):
    chance = random.Random(7)
    answered = []
    for round_ in range(12):
        argv = [sys.executable, "-c", WORKER, str(bare), str(tmp_path / f"m{round_ % 2}"), "1000"]
        workers = [
            subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) for _ in range(2)
        ]
        for worker in workers:
            assert worker.stdout.readline() == b"ready\n"
        time.sleep(0.15 + chance.random() * 0.5)
        for worker in workers:
            os.killpg(worker.pid, signal.SIGKILL)
            answered += worker.communicate()[0].split(b"\n")[:-1]

    for name in ("m0", "m1"):  # each pushes what its killed processes had not pushed yet
        machine(name).transact(increment)

    found = entries(machine("fresh"))
    numbers = [entry.seq for entry in found]
    assert answered
    assert set(map(int, answered)) <= set(numbers)
    assert len(set(answered)) == len(answered)
    assert machine("m1").view(lambda txn: txn.get("count")) == str(len(numbers))
    git(bare, "fsck", "--connectivity-only")


@pytest.mark.slow
def test_pushes_killed_at_random_are_settled(machine, bare, monkeypatch):
    """The push itself is cut short; the call determines its outcome."""
    chance = random.Random(3)
    push = Remote.push

    def cut(self, commit, expected, deadline):
        if chance.random() < 0.5:
            deadline = time.monotonic() + chance.random() * 0.04
        return push(self, commit, expected, deadline)

    monkeypatch.setattr(Remote, "push", cut)
    engine = machine()
    for _ in range(40):
        engine.transact(increment)

    assert machine("other").view(lambda txn: txn.get("count")) == "40"
    assert len(entries(machine("other"))) == 40


@pytest.mark.slow
def test_twelve_machines_race_for_one_key_and_one_wins_each_round(machine):
    from threading import Barrier, Thread

    engines = [machine(f"m{number}", timeout=60.0) for number in range(12)]
    for round_ in range(2):
        start, won = Barrier(12), []

        def take(engine, name, round_=round_, start=start, won=won):
            start.wait()

            def step(txn):
                if txn.get(f"taken/{round_}") is None:
                    txn.put(f"taken/{round_}", "same bytes")
                    return True
                return False

            if engine.transact(step):
                won.append(name)

        threads = [Thread(target=take, args=(one, name)) for name, one in enumerate(engines)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert len(won) == 1


def test_an_outcome_that_git_does_not_explain_is_unclear(machine, monkeypatch):
    engine = machine()
    engine.transact(increment)
    calls = []

    def vague(self, commit, expected, deadline):
        calls.append(commit)
        if len(calls) == 1:
            return PushOutcome.UNCLEAR
        return push(self, commit, expected, deadline)

    push = Remote.push
    monkeypatch.setattr(Remote, "push", vague)

    assert engine.transact(increment) == 2
    assert calls[0] == calls[1]  # the same commit is sent again: it cannot happen twice


FULL = """
import os, resource, sys
from dibs.engines.git import repo as git_repo

resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))  # as if the disk were full after eight bytes
try:
    git_repo._write(sys.argv[1], "HEAD", "x" * 41)
except OSError as error:
    sys.exit(0 if os.listdir(sys.argv[1]) == [] else "something was left behind")
sys.exit("there was room")
"""


def test_retries_do_not_fill_a_full_disk_further(tmp_path):
    argv = [sys.executable, "-c", FULL, str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": ":".join(sys.path)}

    subprocess.run(argv, env=environ, check=True)
