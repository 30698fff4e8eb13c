"""Real processes request the same path at the same moment: exactly one gets it, always."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from proof_crew import Repo, nursery

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.project import local_store, project

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

RACERS = 12
OVERLAPPING = (
    *("src/x.py", "SRC/X.PY", "src/*.py", "src/x.*", "src/?.py", "src/[w-z].py"),
    *("src/**", "src/", "**/x.py", "*/x.py", "{src,lib}/x.py", "src/{x,y}.py"),
)
assert len(OVERLAPPING) == RACERS


def test_twelve_processes_that_race_for_one_path_have_one_winner_in_every_round(repo: Repo):
    found = nursery("race", str(repo.path), "200", *["src/x.py"] * RACERS)

    assert found["failures"] == []
    assert found["winners"] == [1] * 200
    assert found["tokens"] == sorted(set(found["tokens"]))


def test_twelve_processes_that_race_for_overlapping_globs_have_one_winner_in_every_round(
    repo: Repo,
):
    found = nursery("race", str(repo.path), "100", *OVERLAPPING)

    assert found["failures"] == []
    assert found["winners"] == [1] * 100
    assert found["tokens"] == sorted(set(found["tokens"]))


def test_twelve_commands_that_race_have_one_winner_and_eleven_clean_denials(repo: Repo):
    for turn in range(3):
        processes = [
            repo.start("claim", text, "--json", agent=f"racer-{number}", DIBS_TTL="30s")
            for number, text in enumerate(OVERLAPPING)
        ]
        answers = [process.communicate(timeout=60) for process in processes]

        assert sorted(process.returncode for process in processes) == [0] + [3] * 11, answers
        outcomes = [json.loads(out)["outcome"] for out, _ in answers]
        winner = outcomes.index("granted")
        released = repo.dibs("release", "--all", agent=f"racer-{winner}")
        assert released.returncode == 0, f"turn {turn}: {released.stderr}"


def test_two_agents_that_race_for_a_free_file_have_one_winner_in_each_of_200_rounds(repo: Repo):
    found = nursery("hook-race", str(repo.path), "200")

    wrong, overlaps = [], 0
    for turn, both in enumerate(found["rounds"]):
        lost = [number for number, (said, *_) in enumerate(both) if '"deny"' in said]
        told = both[lost[0]][0] if lost else ""
        if len(lost) != 1 or f"claude-racer{1 - lost[0]} holds" not in told:
            wrong.append((turn, both))
        (_, begun, ended), (_, other_begun, other_ended) = both
        overlaps += begun < other_ended and other_begun < ended
    assert wrong == []
    assert len(found["rounds"]) == 200
    assert overlaps >= 100, "the calls did not overlap, so nothing was raced for"


def test_the_first_users_of_a_repository_race_and_one_wins(tmp_path: Path):
    repos = [str(Repo.make(tmp_path / f"repo-{number}").path) for number in range(40)]

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
