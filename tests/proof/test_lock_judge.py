"""The judge of a branch with lock files reports each rule when it is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proof_lock_files import Entry, World, stamp
from proof_lock_judge import Tree, history, judge, judge_diary, judge_history, rewritten

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000
LATER = "expires: 2027-01-15T08:00:00Z\n"


def lock(agent: str, *, claimed: int = NOW, nonce: str = "") -> str:
    """Return a lock file."""
    text = f"agent: {agent}\nclaimed: {stamp(claimed)}\ntask: a\n"
    return f"{text}dibs: {nonce}\n" if nonce else text


def tree(
    subject: str, *, held: str = "", done: bool = False, at: int = NOW, changed: str = ""
) -> Tree:
    """Return a commit of a branch with one task, ``a``."""
    task = frozenset({"a"})
    where = (frozenset[str](), task) if done else (task, frozenset[str]())
    return Tree(
        "c0ffee", at, subject, {"a": held} if held else {}, *where, frozenset({changed} - {""})
    )


DONE = tree("done", done=True)
FREE, HELD = tree("add tasks"), tree("claim: a by dibs-1", held=lock("dibs-1", nonce="n1"))

FAIR = [
    [FREE, HELD, tree("done: a by dibs-1", done=True)],
    [FREE, HELD, tree("release: a by dibs-1"), tree("claim: a by x", held=lock("x"))],
    [FREE, HELD, tree("expire: a, held by dibs-1 since then", at=NOW + 7200)],
    [FREE, HELD, tree("renew: a by dibs-1", held=lock("dibs-1", nonce="n1") + LATER)],
]  # fmt: skip

FOUL = {
    "never free": [FREE, HELD, tree("claim: a by x", held=lock("x"))],
    "from dibs-1 to dibs-1": [FREE, HELD, tree("claim: a by dibs-1", held=lock("dibs-1", nonce="n2"))],
    "a is lost": [FREE, Tree("c0ffee", NOW, "work")],
    "a was done and is no longer": [DONE, Tree("c0ffee", NOW, "work")],
    "a is pending and done": [Tree("c0ffee", NOW, "work", {}, frozenset({"a"}), frozenset({"a"}))],
    "a is locked but not pending": [DONE, HELD._replace(pending=DONE.pending, done=DONE.done)],
    "expires 7200 s early": [FREE, HELD, tree("expire: a, held by dibs-1 since then")],
    "disappears": [FREE, HELD, tree("done: a by dibs-2", done=True)],
    "the lock of dibs-1 on a disappears": [FREE, HELD, tree("work")],
    "a was not moved": [FREE, HELD, tree("done: a by dibs-1")],
    "changes src/x.c": [FREE, HELD._replace(changed=frozenset({"src/x.c"}))],
}  # fmt: skip


@pytest.mark.parametrize("trees", FAIR, ids=lambda trees: trees[-1].subject)
def test_the_judge_accepts_a_correct_history(trees: list[Tree]):
    assert judge_history(trees) == []


@pytest.mark.parametrize("fault", FOUL)
def test_the_judge_reports_a_broken_rule(fault: str):
    (found,) = judge_history(FOUL[fault])

    assert fault in found


def test_a_dead_agents_lock_may_be_replaced_after_the_ttl_of_its_claim():
    def faults(at: int, dead: dict[str, int], nonce: str = "n1") -> list[str]:
        held = HELD._replace(locks={"a": lock("dibs-1", nonce=nonce)})
        return judge_history([FREE, held, tree("expire: a, held by dibs-1", at=NOW + at)], dead)

    assert faults(300, {"dibs-1": 300}) == []
    assert "200 s early" in faults(100, {"dibs-1": 300})[0]
    assert "6900 s early" in faults(300, {})[0]
    assert "6900 s early" in faults(300, {"dibs-1": 300}, nonce="")[0]


def test_the_judge_reports_two_agents_that_work_on_a_task_at_the_same_time():
    diary = [Entry(1, "x", "a", True), Entry(3, "x", "a", False), Entry(2, "y", "a", True)]

    assert judge_diary(diary) == ["y and x work on a at the same time"]
    assert judge_diary([diary[0], diary[1], Entry(4, "y", "a", True)]) == []


def test_the_judge_reports_a_push_that_removes_a_claim(tmp_path: Path):
    world = World(tmp_path)
    world.put({"a": "title: a\n"})
    other = world.member("other")
    world.first.push({"current_tasks/a.lock": lock("x")}, "claim: a by x")
    assert judge(world) == []

    (other.clone / "current_tasks" / "a.lock").write_text(lock("other"))
    other.git("add", "-A")
    other.git("commit", "-q", "-m", "claim: a by other")
    other.git("push", "-q", "--force")

    assert "is no longer on the branch" in rewritten(world.bare)[0]


def test_the_judge_reports_a_belief_without_a_lock(tmp_path: Path):
    world = World(tmp_path)
    world.put({"a": "title: a\n"})
    world.member("x").believe("a", owns=True)

    assert judge(world) == ["x believes it owns a, but never had its lock"]
    assert len(list(history(world.bare))) == 2
