"""Several agents, with every engine: one owner at a time, and all in turn."""

from __future__ import annotations

import subprocess
from contextlib import closing

import pytest
from tests.mcp.wires import NEW, Stdio, queue_of, until

from dibs import Dibs

CREW = 4


def test_all_waiting_agents_are_served_in_turn(wires, path):
    crew = [wires(NEW, f"waiter-{n}") for n in range(CREW)]
    first, *rest = crew
    first.call("claim", paths=[path])
    ids = []
    for place, wire in enumerate(rest, 1):
        ids.append(wire.begin_call("wait", paths=[path], seconds=60))
        until(lambda place=place: len(queue_of(first, path)) == place)

    holder = first
    for wire, id_ in zip(rest, ids, strict=True):
        holder.call("release", paths=[path])
        assert wire.end_call(id_)[1]["outcome"] == "granted"
        held = wire.call("status", paths=[path])["claims"]
        assert [one["agent"] for one in held] == [wire.name]
        holder = wire
    holder.call("release", paths=[path])


@pytest.mark.parametrize("engine", ["redis", "git"])
def test_waits_and_cancellations_work_with_every_engine(tmp_path, request, engine):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    if engine == "redis":
        address = request.getfixturevalue("redis_url")
    else:
        subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "hub")], check=True)
        subprocess.run(
            ["git", "-C", str(root), "remote", "add", "origin", str(tmp_path / "hub")], check=True
        )
        address = "git:origin"
    (root / "dibs.toml").write_text(f'project = "crowd"\nengine = "{address}"\n')
    bob = Stdio(root, "bob", NEW)
    with closing(bob), Dibs.open(root, agent="alice") as alice:
        held = alice.claim("a.py")
        id_ = bob.begin_call("wait", paths=["a.py"], seconds=60)
        until(lambda: queue_of(bob, "a.py") == ["bob"])
        bob.cancel(id_)
        until(lambda: queue_of(bob, "a.py") == [])
        id_ = bob.begin_call("wait", paths=["a.py"], seconds=60)
        until(lambda: queue_of(bob, "a.py") == ["bob"])
        held.release()
        assert bob.end_call(id_)[1]["outcome"] == "granted"
