"""Claims that match no file: the warning, and what silences it."""

from __future__ import annotations

import pytest


@pytest.fixture
def files(repo):
    """A small project."""
    for name in ("src/a.py", "src/auth/login.py", "docs/x.md", "b.py", "we[i]rd.txt"):
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return repo


@pytest.mark.parametrize(
    "pattern",
    [
        "src/a.py", "src", "src/", "src/**", "src/*.py", "**/login.py", "{src,docs}/**", "we[i]rd.txt",
        "port:80", "@x/y",
    ],
)  # fmt: skip
def test_a_pattern_that_matches_something_gives_no_warning(dibs, files, pattern):
    answer = dibs("claim", pattern)

    assert (answer.status, answer.err) == (0, "")


@pytest.mark.parametrize("typed", ["src/zebra.py", "src/*.md", "tests/"])
def test_a_new_file_is_claimed_with_a_warning_unless_it_is_said_to_be_new(dibs, files, typed):
    answer, silent = dibs("claim", typed), dibs("claim", typed, "--new")

    assert answer.out.startswith(f"granted {typed} ")
    assert (
        answer.err == f"dibs: warning: no file matches {typed} (use --new if you will create it)\n"
    )
    assert (silent.status, silent.err) == (0, "")


def test_json_has_the_warnings_and_standard_error_does_not(dibs, files):
    answer = dibs("claim", "scr/", "--json")

    assert answer.json["warnings"] == ["no file matches scr/ (use --new if you will create it)"]
    assert answer.err == ""
    assert dibs("claim", "src/", "--json").json["warnings"] == []


def test_very_many_paths_suggest_quoting_a_glob(dibs, repo):
    names = [f"many/{number}.py" for number in range(120)]
    (repo / "many").mkdir()
    for name in names:
        (repo / name).touch()

    assert dibs("claim", *names[:99]).err == ""
    answer = dibs("claim", *names)

    assert answer.status == 0
    assert answer.err == (
        "dibs: warning: 120 paths: quote a glob to keep the shell from expanding it\n"
    )
    assert dibs("claim", "many/*.py").err == ""


def test_a_path_that_leads_nowhere_does_not_break_the_check(dibs, files):
    (files / "broken").symlink_to("nowhere")

    assert dibs("claim", "src/a.pyy/").status == 0
    assert dibs("claim", "broken").status == 0
    assert dibs("claim", "é" * 100).status == 0


def test_a_denied_path_that_does_not_exist_yet_gets_the_usual_next_steps(dibs, files):
    dibs("claim", "src/**", agent="alice")

    answer = dibs("claim", "src/qqqq.py", agent="bob")

    assert (answer.status, answer.err) == (3, "")
    assert "dibs claim src/qqqq.py --wait 5m" in answer.out
