"""Scripts, Dibs agents, and people share one branch with lock files: never two owners of a task."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from proof_lock_files import POINTS, Crew, World, play
from proof_lock_judge import history, judge
from proof_machines import tell

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS, TASKS = (12, 12) if os.environ.get("DIBS_PROOF") == "long" else (4, 8)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def drive(world: World) -> None:
    """Play all rounds and judge each; check that kills happened at every point."""
    for number in range(ROUNDS):
        play(world, number, [f"r{number}-{n}" for n in range(TASKS)])
        assert judge(world) == []
    trees = list(history(world.bare))
    tell(f"{Counter(kind(tree.subject) for tree in trees)}, {len(world.dead)} killed")
    for point in POINTS:
        for who in ("script", "dibs"):
            assert list(world.orders.glob(f"reached-{point}-{who}-*")), (
                f"no {who} died {point} a push"
            )
    finished = Counter(kind(tree.subject) for tree in trees)
    assert finished["done dibs"] > 0
    assert finished["done script"] > 0
    assert finished["done dibs"] + finished["done script"] == ROUNDS * TASKS
    assert finished["expire script"] + finished["expire dibs"] > 0


def kind(subject: str) -> str:
    """Return what a commit did, and for which kind of member."""
    verb, _, rest = subject.partition(":")
    agent = rest.partition(" by ")[2]
    return f"{verb} {agent.partition('-')[0]}" if " by " in rest else verb.partition(" ")[0]


def test_scripts_alone_never_have_two_owners_of_a_task(tmp_path: Path):
    world = World(tmp_path)
    world.put({f"t{number}": "title: x\n" for number in range(6)})
    crew = Crew(world, 1, kinds=("script",))

    crew.start()
    crew.wait_until("every task is done", lambda: not world.open_tasks())
    crew.stop()

    assert judge(world) == []


def test_scripts_agents_and_people_share_a_branch_without_settings(tmp_path: Path):
    drive(World(tmp_path))


def test_they_share_a_branch_and_a_git_store(tmp_path: Path):
    world = World(tmp_path, DIBS_ENGINE="git:origin")
    world.buries = True

    drive(world)


def test_they_share_a_branch_and_a_redis_store(tmp_path: Path, redis_url: str):
    world = World(tmp_path, DIBS_ENGINE=redis_url)
    world.options = ("--ttl", "30s")  # a dead agent's claim in the store also has to expire

    drive(world)
