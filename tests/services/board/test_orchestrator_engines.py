"""Two clones, each with an orchestrator, and one store: everything is done once, and both boards agree."""

from __future__ import annotations

import threading

import pytest
from tests.services.board.test_orchestrator import Yard
from tests.services.engines import common_store, on_lasting_engines

from dibs.core.claims.agents import Caller
from dibs.core.tasks.rules import Handoff

COUNT = 6


@on_lasting_engines
def connect(request):
    """Return a function that opens the shared store like another machine."""
    with common_store(request, apart=True) as another:
        yield another


@pytest.fixture
def clones(connect, tmp_path):
    yards = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        yards.append(Yard(tmp_path / name, engine=connect()))
    return yards


def board_of(yard):
    """Return the task files of a clone, by place."""
    work = yard.root / "work"
    return {str(p.relative_to(work)): p.read_text() for p in work.rglob("*.yaml")}


def pages_of(yard):
    return {name: yard.page(name) for name in ("WORKFLOW_LOG.md", "HANDOFFS.md", "AGENT_STATUS.md")}


@pytest.mark.slow
def test_two_clones_with_an_orchestrator_each_do_everything_once(clones):
    here, there = clones
    here.join("bob")
    for number in range(COUNT):
        here.make(f"new-{number}", agent="bob", title=f"new {number}")
        here.make(f"source-{number}", agent="ann", title=f"source {number}")
        here.take("ann")
        here.tasks.done(Caller("ann"), f"source-{number}")
        here.tasks.wait_for_follow_up(f"source-{number}", Handoff("bob", f"on {number}"))
    start, found, broken = threading.Barrier(2), [], []

    def run(yard, boss):
        start.wait()
        try:
            found.extend(yard.orchestrator.cycle(Caller(boss, "human")) for _ in range(4))
        except BaseException as error:  # reported by the test, which would not see it
            broken.append(error)
            raise

    threads = [
        threading.Thread(target=run, args=[yard, f"boss-{number}"])
        for number, yard in enumerate(clones)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert broken == []
    made = [name for cycle in found for name in cycle.followups]
    assigned = [name for cycle in found for name in cycle.assigned]
    assert len(made) == len(set(made)) == COUNT
    assert sorted(assigned) == sorted([*made, *(f"new-{number}" for number in range(COUNT))])
    for yard in clones:
        yard.cycle()
    assert board_of(here) == board_of(there)
    assert sum(path.startswith("assigned/bob/") for path in board_of(here)) == 2 * COUNT
    for yard in clones:
        yard.cycle()
    assert pages_of(here) == pages_of(there)
    assert pages_of(here)["HANDOFFS.md"].count("\n## ") == COUNT
