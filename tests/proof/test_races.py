"""Real processes request the same path at the same moment: exactly one gets it, always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proof_crew import Repo, nursery
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.project import local_store, project

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

ROUNDS = effort(40, 200)


def test_two_agents_that_race_for_a_free_file_have_one_winner_in_each_round(repo: Repo):
    found = nursery("hook-race", str(repo.path), str(ROUNDS))

    wrong, overlaps = [], 0
    for turn, both in enumerate(found["rounds"]):
        lost = [number for number, (said, *_) in enumerate(both) if '"deny"' in said]
        told = both[lost[0]][0] if lost else ""
        if len(lost) != 1 or f"claude-racer{1 - lost[0]} holds" not in told:
            wrong.append((turn, both))
        (_, begun, ended), (_, other_begun, other_ended) = both
        overlaps += begun < other_ended and other_begun < ended
    assert wrong == []
    assert len(found["rounds"]) == ROUNDS
    assert overlaps >= ROUNDS / 2, "the calls did not overlap, so nothing was raced for"


def test_the_first_users_of_a_repository_race_and_one_wins(tmp_path: Path):
    repos = [str(Repo.make(tmp_path / f"repo-{number}").path) for number in range(effort(10, 40))]

    found = nursery("first-use", *repos)

    for answers in found["rounds"]:
        assert sorted(answers, key=str) == [False] * 11 + [True]


def test_a_first_user_that_is_overtaken_by_another_opens_the_same_store(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    """The rival creates the store while this process checks whether it exists."""
    look = local_store.exists

    def overtaken(path: str) -> bool:
        monkeypatch.setattr(local_store, "exists", look)
        before = look(path)
        assert repo.dibs("claim", "docs/", agent="rival").returncode == 0
        return before

    monkeypatch.setattr(local_store, "exists", overtaken)

    opened = project.open_project(str(repo.path), {})

    try:
        assert isinstance(opened.claims.claim(Caller("slow"), [parse("src/x.py")]), Granted)
        assert [h.claim.agent for h in opened.claims.all()[0]] == ["slow", "rival"]
    finally:
        opened.close()
