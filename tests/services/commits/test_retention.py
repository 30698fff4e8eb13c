"""Records of the claims behind commits are dropped eventually, and never too early."""

from __future__ import annotations

import json

import pytest
from tests.services.commit_world import ALICE, World

from dibs.services.commits import retention, service

DAY = 24 * 3600.0


@pytest.fixture(params=["sqlite", "redis", "git"])
def world(request, tmp_path, monkeypatch):
    engine = ""
    if request.param == "redis":
        engine = request.getfixturevalue("redis_url")
    if request.param == "git":
        engine = f"git:{request.getfixturevalue('git_remote').path}"
    monkeypatch.setattr(service, "EVERY", 1)
    made = World(tmp_path / "tree", engine=engine)
    made.claim(ALICE, "src/one.py")
    yield made
    made.project.close()


def commit(world, text):
    world.put("src/one.py", f"{text}\n")
    return world.committed(ALICE, text, anyway=True).commit


def age(world, oid, days, **other):
    def step(txn):
        row = json.loads(txn.get(f"commit/{oid}"))
        txn.put(f"commit/{oid}", json.dumps({**row, "at": row["at"] - days * DAY, **other}))

    world.project.engine.transact(step)


def remembered(world):
    return {key.removeprefix("commit/") for key in world.rows("commit/")}


def test_the_record_of_an_old_commit_is_dropped_once_it_is_merged(world):
    merged, fresh = commit(world, "merged"), commit(world, "fresh")
    world.git("checkout", "-q", "-b", "feature")
    unmerged = commit(world, "unmerged")
    world.git("checkout", "-q", "main")
    for oid in (merged, unmerged):
        age(world, oid, 31)
    age(world, fresh, 29)
    last = commit(world, "last")
    assert remembered(world) == {fresh, unmerged, last}


def test_the_record_of_another_clones_commit_is_kept_for_a_year(world):
    first, second = commit(world, "first"), commit(world, "second")
    age(world, first, 364, clone="another")
    age(world, second, 366, clone="another")
    last = commit(world, "last")
    assert remembered(world) == {first, last}


def test_no_record_is_dropped_if_the_integration_branch_is_unknown(world, monkeypatch):
    merged = commit(world, "merged")
    age(world, merged, 31)
    monkeypatch.setattr(retention, "_MAIN", "refs/heads/none")
    last = commit(world, "last")
    assert remembered(world) == {merged, last}
