"""``dibs forecast``: its output for people and programs, exit status, and ``--watch``."""

import json
import os
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from dibs.cli.commands.forecast.text import matrix
from dibs.cli.commands.forecast.watch import TreeWatcher
from dibs.core.changes.forecasts import ForecastConflict, Pair

LINES = "".join(f"line {number}\n" for number in range(1, 21))
#: How long a test waits for expected output, in seconds.
LONGEST = 60.0


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


def test_a_base_that_looks_like_a_git_option_is_only_a_name(dibs, trees):
    answer = dibs("forecast", "--base=--upload-pack=touch x")

    assert answer.status == 65
    assert "--upload-pack=touch x' is not a valid branch name" in answer.err
    assert not Path("x").exists()


def test_a_forecast_requires_a_git_repository(dibs, repo, tmp_path):
    (tmp_path / "plain").mkdir()
    dibs("init", "--agents", "none", "--repo", str(tmp_path / "plain"))

    answer = dibs("forecast", "--repo", str(tmp_path / "plain"))

    assert answer.status == 6
    assert "not a git repository" in answer.err


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


def test_changed_files_are_sorted_by_the_innermost_working_tree(tmp_path):
    outer, inner = str(tmp_path), str(tmp_path / "trees" / "bob")
    watched = TreeWatcher(str(tmp_path / ".git"))
    watched._roots = (outer, inner)

    assert watched.sorted([f"{outer}/a.py", f"{inner}/b.py", f"{outer}/.git/index.lock"]) == (
        {outer: {"a.py"}, inner: {"b.py"}},
        False,
    )
    assert watched.sorted([f"{inner}/.git"]) == ({}, False)


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("refs/heads/main", True),
        ("refs/heads/agent/bob", True),
        ("HEAD", True),
        ("packed-refs", True),
        ("worktrees/bob", True),
        ("worktrees/bob/HEAD", True),
        ("info/attributes", True),
        ("refs/heads/main.lock", False),
        ("HEAD.lock", False),
        ("refs/dibs/gate", False),
        ("objects/ab/cd", False),
        ("logs/HEAD", False),
        ("worktrees/bob/index.lock", False),
        ("dibs/forecast-objects-x", False),
        ("dibs/forecast-objects-x/ab/cd", False),
    ],
)
def test_in_a_git_directory_only_branch_moves_count_as_changes(tmp_path, path, counts):
    watched = TreeWatcher(str(tmp_path / ".git"))
    watched._roots = (str(tmp_path),)

    assert watched.sorted([f"{tmp_path}/.git/{path}"]) == ({}, counts)


def test_a_changed_index_means_that_its_whole_tree_may_have_changed(repo, trees):
    watched = TreeWatcher(str(repo / ".git"))
    watched._roots = (str(repo), str(trees["bob"]))

    told = [f"{repo}/.git/worktrees/bob/index", f"{trees['bob']}/a.txt"]
    assert watched.sorted(told) == ({str(trees["bob"]): set()}, False)
    assert watched.sorted([f"{repo}/.git/index"]) == ({str(repo): set()}, False)


def test_a_watch_ignores_its_own_writes(repo, trees):
    watched = TreeWatcher(str(repo / ".git"))
    watched._roots = (str(repo),)
    watched._changed = {f"{repo}/.git/dibs/forecast-objects-x/ab/cd"}
    watched._news.set()

    assert watched.wait(0.05) == ({}, False)
    assert watched._changed == set()
    assert not watched._news.is_set()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_reports_changes_and_exits_cleanly(start, trees, ending):
    edit(trees["alice"])
    watch = start("forecast", "--watch", "--json", "--agent", "carol")
    first = json.loads(watch.stdout.readline())
    assert (first["event"], first["conflicts"]) == ("forecast", [])

    edit(trees["bob"])
    told = json.loads(watch.stdout.readline())
    assert (told["event"], told["agents"]) == ("conflict", ["alice", "bob"])
    (trees["bob"] / "a.txt").write_text(LINES)
    assert json.loads(watch.stdout.readline()) == {"event": "cleared", "agents": ["alice", "bob"]}

    watch.send_signal(ending)
    assert watch.wait(LONGEST) == 0
    assert watch.stderr.read() == ""
    assert not list(Path(".git/dibs").glob("forecast-objects-*"))


def test_a_watch_continues_while_the_integration_branch_is_missing(start, trees):
    watch = start("forecast", "--watch", "--json", "--no-warn")
    assert json.loads(watch.stdout.readline())["event"] == "forecast"

    git("checkout", "-q", "--detach")
    assert "the main working tree has no branch" in watch.stderr.readline()
    edit(trees["alice"])
    edit(trees["bob"])
    git("checkout", "-q", "main")

    assert json.loads(watch.stdout.readline())["event"] == "conflict"
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(LONGEST) == 0
    assert watch.stderr.read() == ""


def test_a_watch_without_watchfiles_checks_periodically(start, trees, monkeypatch):
    monkeypatch.setenv("DIBS_FORECAST_EVERY", "1s")
    block = "import sys; sys.modules['watchfiles'] = None; from dibs.cli import program; program()"
    watch = start("forecast", "--watch", "--json", program=(sys.executable, "-c", block))
    assert json.loads(watch.stdout.readline())["event"] == "forecast"

    edit(trees["alice"])
    edit(trees["bob"])

    assert json.loads(watch.stdout.readline())["event"] == "conflict"
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(LONGEST) == 0
