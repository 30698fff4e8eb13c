"""A git remote that lost objects of the branch is reported, and repaired from a copy as a new life."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.core.claims.ledger import Kind
from dibs.engines.git.connection import GitConnection
from dibs.engines.git.engine import GitEngine
from dibs.engines.git.remote import Remote
from dibs.errors import Unavailable
from dibs.services.state.lifecycle import begin_life
from dibs.testing.steps import entries, everything, increment, put


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    return path


@pytest.fixture
def machine(tmp_path, bare):
    opened = []

    def connect(name="here", **options):
        options = {"poll": 0.1, "timeout": 20.0, "renew": begin_life, **options}
        opened.append(GitEngine(str(bare), state=tmp_path / name, **options))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.close()


def lose_objects(bare):
    """Delete all objects but keep the refs, as a wrong ``git gc`` or a restored backup can."""
    for folder, _, names in os.walk(bare / "objects"):
        for name in names:
            os.unlink(os.path.join(folder, name))


def test_a_change_says_that_the_remote_lost_objects_and_how_to_fix_it(machine, bare):
    engine = machine()
    engine.transact(increment)
    lose_objects(bare)

    with pytest.raises(Unavailable, match="lost objects of the branch") as caught:
        engine.transact(increment)

    assert caught.value.code == "STORE_DAMAGED"
    assert "dibs engine repair" in caught.value.hint


def test_repair_restores_the_branch_from_this_machines_copy_as_a_new_life(machine, bare):
    engine = machine()
    put(engine, task="kept")
    last = [engine.transact(increment) for _ in range(3)][-1]
    lose_objects(bare)

    done = machine().repair()

    assert any("created the branch dibs" in line and "claims are void" in line for line in done)
    found = entries(machine())
    assert found[-1].kind == Kind.LEDGER_RESTARTED
    assert found[-1].seq > last
    assert "lost objects" in found[-1].summary
    assert dict(everything(machine("new")))["task"] == "kept"
    assert machine("new").transact(increment) > last
    assert engine.transact(increment) > last
    subprocess.run(["git", "-C", bare, "fsck", "--strict"], check=True)


class KilledError(Exception):
    """Simulates a kill at one point."""


def kill(*_):
    raise KilledError


@pytest.mark.parametrize("point", ["push", "adopt"])
@pytest.mark.parametrize("after", ["repair", "step", "view"])
def test_a_repair_that_is_killed_keeps_the_rows(machine, bare, monkeypatch, point, after):
    """Killed after the branch was deleted, or after it was created again."""
    engine = machine()
    put(engine, task="kept")
    last = engine.transact(increment)
    lose_objects(bare)
    owner = Remote if point == "push" else GitConnection
    with monkeypatch.context() as patch:
        patch.setattr(owner, point, kill)
        with pytest.raises(KilledError):
            machine().repair()

    if after == "repair":
        machine().repair()
    elif after == "step":
        engine.transact(increment)

    assert dict(everything(machine()))["task"] == "kept"
    assert dict(everything(machine("new")))["task"] == "kept"
    assert machine("new").transact(increment) > last
    restarted = [e for e in entries(machine()) if e.kind == Kind.LEDGER_RESTARTED]
    assert "lost objects" in restarted[-1].summary


def test_a_branch_that_another_machine_created_meanwhile_is_not_replaced(
    machine, bare, monkeypatch
):
    machine().transact(increment)
    lose_objects(bare)
    with monkeypatch.context() as patch:
        patch.setattr(Remote, "push", kill)
        with pytest.raises(KilledError):
            machine().repair()
    put(machine("new"), task="theirs")

    assert dict(everything(machine()))["task"] == "theirs"
    machine().transact(increment)
    assert dict(everything(machine("new")))["task"] == "theirs"


def test_a_machine_that_saw_more_follows_the_repaired_branch(machine, bare):
    old, newer = machine("old"), machine("newer")
    old.transact(increment)
    last = [newer.transact(increment) for _ in range(3)][-1]
    lose_objects(bare)

    machine("old").repair()

    assert newer.transact(increment) > last
    assert machine("old").transact(increment) > last


def test_a_machine_without_a_copy_cannot_repair_it_and_says_who_can(machine, bare):
    machine().transact(increment)
    lose_objects(bare)

    with pytest.raises(Unavailable) as caught:
        machine("new").repair()

    assert caught.value.code == "STORE_DAMAGED"
    assert "machine that used it" in caught.value.hint


def test_repair_leaves_a_complete_branch_alone(machine, bare):
    engine = machine()
    engine.transact(increment)
    before = subprocess.check_output(["git", "-C", bare, "rev-parse", "dibs"])

    assert not any("created" in line for line in machine().repair())

    assert subprocess.check_output(["git", "-C", bare, "rev-parse", "dibs"]) == before
