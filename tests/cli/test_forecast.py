"""``dibs forecast``: its output for people and programs and exit status."""

import os
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from dibs.cli.commands.forecast.text import matrix
from dibs.core.changes.forecasts import ForecastConflict, Pair

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def git(*words, folder="."):
    who = {f"GIT_{w}_{n}": "crew" for w in ("AUTHOR", "COMMITTER") for n in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **who}, check=True)


@pytest.fixture
def trees(repo):
    """Worktrees of alice and bob, next to the main one."""
    git("checkout", "-q", "-b", "main")
    Path("a.txt").write_text(LINES)
    git("add", "-A")
    git("commit", "-qm", "first")
    found = {}
    for agent in ("alice", "bob"):
        found[agent] = repo.parent / agent
        git("worktree", "add", "-q", "-b", f"agent/{agent}", str(found[agent]))
    return found


def edit(tree, line=3):
    (tree / "a.txt").write_text(LINES.replace(f"line {line}\n", f"by {tree.name}\n"))


def test_no_conflicts_is_one_line_and_status_0(dibs, trees):
    answer = dibs("forecast")

    assert answer == (0, "no conflicts (compared 2 branches with each other and with main)\n", "")


def test_a_conflict_is_a_matrix_with_lines_and_status_3(dibs, trees):
    edit(trees["alice"])
    edit(trees["bob"])

    answer = dibs("forecast", agent="alice")

    assert answer.status == 3
    assert answer.out.splitlines() == [
        "conflicting files for each pair:",
        "",
        "         1  2",
        "1 alice  -  1",
        "2 bob    1  -",
        "",
        "conflict between alice and bob: 1 file",
        "  a.txt (content) lines 3 / 3",
    ]
    assert "alice and bob would conflict in a.txt" in dibs("log").out


def test_programs_get_everything(dibs, trees):
    edit(trees["alice"])
    edit(trees["bob"])

    found = dibs("forecast", "--json").json

    (conflict,) = found["conflicts"]
    (file,) = conflict["files"]
    assert conflict["agents"] == ["alice", "bob"]
    assert (file["path"], file["kind"], file["hunks"]) == (
        "a.txt",
        "content",
        [{"lines": [[3, 1], [3, 1]]}],
    )
    assert [(p["name"], p["dirty"], p["base"]) for p in found["parties"]] == [
        ("main", 0, True),
        ("alice", 1, False),
        ("bob", 1, False),
    ]
    assert (found["compared"], found["met"], found["cannot_merge"], found["left_out"]) == (
        3,
        1,
        [],
        [],
    )


def test_no_warn_writes_nothing(dibs, trees):
    edit(trees["alice"])
    edit(trees["bob"])
    dibs("status")
    before = dibs("log", "--json").out

    assert dibs("forecast", "--no-warn").status == 3
    assert dibs("log", "--json").out == before


def test_a_matrix_of_twenty_fits_a_page(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"a-rather-long-name-of-agent-{number}" for number in range(20)]
    clashes = (ForecastConflict("x", "content", "", ()),) * 100

    lines = matrix([Pair(one, other, clashes) for one, other in combinations(names, 2)], ())

    assert len(lines) == 21
    assert max(map(len, lines)) <= 80


def test_a_matrix_that_is_too_wide_becomes_a_count(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pairs = [
        Pair("a", f"b{number}", (ForecastConflict("x", "content", "", ()),)) for number in range(40)
    ]

    assert matrix(pairs, ()) == ["40 pairs among 41 agents would conflict"]


def test_a_matrix_is_empty_for_pairs_that_were_not_compared():
    clashes = (ForecastConflict("x", "content", "", ()),)
    pairs = [Pair("a", "b", clashes), Pair("a", "c", clashes)]

    assert matrix(pairs, [("a", "b"), ("a", "c")]) == [
        "     1  2  3",
        "1 a  -  1  1",
        "2 b  1  -",
        "3 c  1     -",
    ]
    assert matrix(pairs, [("a", "b"), ("a", "c"), ("b", "c")])[2:] == [
        "2 b  1  -  .",
        "3 c  1  .  -",
    ]
