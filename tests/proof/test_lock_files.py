"""Scripts, Dibs agents, and people share one branch with lock files: never two owners of a task."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest
from proof_lock_files import FINISH, POINTS, TAKE, Crew, Killed, World, play
from proof_lock_judge import history, judge
from proof_machines import tell
from tests.soak import effort

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS, TASKS = effort((2, 3), (12, 12))
#: How long a dead agent's claim stays in its store, in seconds. The default is longer than a round waits.
SHORT = 30

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def drive(world: World, rounds: int = ROUNDS) -> Counter[str]:
    """Play some rounds, and judge each; return what was done how often, by whom."""
    for number in range(rounds):
        play(world, number, [f"r{number}-{n}" for n in range(TASKS)])
        assert judge(world) == []
    finished = Counter(kind(tree.subject) for tree in history(world.bare))
    reached = Counter(path.name.split("-")[1] for path in world.orders.glob("reached-*"))
    tell(f"{finished}, {len(world.dead)} killed, during a push: {reached}")
    assert finished["done dibs"] + finished["done script"] == rounds * TASKS
    assert len(world.dead) >= rounds
    return finished


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


@pytest.mark.parametrize(
    ("who", "point"),
    effort([("script", "during"), ("dibs", "after")], list(product(("script", "dibs"), POINTS))),
)
def test_an_agent_that_dies_at_any_point_of_a_claim_loses_no_task(
    tmp_path: Path, who: str, point: str
):
    world = World(tmp_path)
    world.put({"a": "title: x\n", "b": "title: x\n"})
    victim, other = world.member(f"{who}-1"), world.member("dibs-2")
    victim.plant(dirty=who == "dibs")
    victim.order(point)

    with pytest.raises(Killed):
        TAKE[who](victim)

    victim.check_files()
    assert world.locks() == ({"a": victim.name} if point == "after" else {})
    world.age()
    for _ in range(2):
        FINISH["dibs"](other, TAKE["dibs"](other))
    assert world.open_tasks() == set()
    assert judge(world) == []


def test_scripts_agents_and_people_share_a_branch_without_settings(tmp_path: Path):
    world = World(tmp_path)
    world.ttl = SHORT  # a successor in a dead agent's clone also waits for its claim

    finished = drive(world)

    assert finished["done dibs"] > 0
    assert finished["done script"] > 0


def test_they_share_a_branch_and_a_git_store(tmp_path: Path):
    world = World(tmp_path, DIBS_ENGINE="git:origin")
    world.buries = True

    drive(world, ROUNDS // 2)


def test_they_share_a_branch_and_a_redis_store(tmp_path: Path, redis_url: str):
    world = World(tmp_path, DIBS_ENGINE=redis_url)
    world.ttl = SHORT  # a dead agent's claim in the store also has to expire

    drive(world, ROUNDS // 2)
