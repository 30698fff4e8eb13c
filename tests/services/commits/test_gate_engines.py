"""If the store becomes unreachable at the gate, the branch is old or new, and the ledger catches up."""

from __future__ import annotations

import contextlib
import os

import pytest
from tests.servers import RedisServer
from tests.services.commit_world import ALICE, BOB, World

from dibs.errors import DibsError
from dibs.services.commits import gate

#: The steps at which the store becomes unreachable, and whether the branch has moved by then.
STEPS = {"prepared": False, "intent": True, "moving": True, "moved": True, "followed": True}


@pytest.fixture(params=["redis", "git"])
def store(request, tmp_path):
    """An engine, with functions that stop and restart it."""
    if request.param == "redis":
        with RedisServer(tmp_path / "redis", aof="always") as server:
            yield server.url, server.kill, server.restart
        return
    place = request.getfixturevalue("git_remote").path
    away = f"{place}.away"
    yield f"git:{place}", lambda: os.rename(place, away), lambda: os.rename(away, place)


@pytest.mark.parametrize("step", STEPS)
def test_an_unreachable_store_leaves_branch_and_ledger_consistent(
    store, tmp_path, monkeypatch, step
):
    engine, go_away, come_back = store
    world = World(tmp_path / "tree", engine=engine)
    world.claim(ALICE, "src/one.py")
    world.claim(BOB, "src/two.py")
    world.put("src/one.py", "alice\n")
    world.put("src/two.py", "bob\n")
    first = world.head()
    with monkeypatch.context() as breaking:
        breaking.setattr(gate, "reach", lambda reached: go_away() if reached == step else None)
        with contextlib.suppress(DibsError):
            world.committed(ALICE, "hers")
    moved = world.head() != first
    assert moved == STEPS[step]
    come_back()
    world.committed(BOB, "his")
    landed = world.git("rev-list", f"{first}..HEAD").split("\n")
    assert [e.details["commit"] for e in world.ledger()] == landed[::-1]
    assert len(landed) == 1 + moved
    assert world.read("src/one.py") == "alice\n"
    assert world.dirty() == (set() if moved else {" M src/one.py"})
    assert world.rows("intent/") == {}
    world.project.close()
