"""``dibs commit`` as a command: what it prints, and its exit status."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def tree(repo):
    for words in (("config", "user.name", "Ann"), ("config", "user.email", "ann@example.org")):
        subprocess.run(["git", *words], check=True)
    return repo


def test_a_commit_says_what_it_holds_and_what_it_left(tree, dibs):
    dibs("claim", "a.py", "never.py", agent="alice")
    dibs("claim", "b.py", agent="bob")
    for name in ("a.py", "b.py", "new.py"):
        (tree / name).write_text("1\n")
    answer = dibs("commit", "-m", "fix", agent="alice")
    assert answer.status == 0
    assert "committed" in answer.out
    assert "1 file to ma" in answer.out
    assert "new      a.py" in answer.out
    assert "unchanged: never.py" in answer.out
    assert "never committed new.py" in answer.out
    assert "b.py: bob holds b.py" in answer.out


def test_a_refusal_names_path_holder_and_next_step(tree, dibs):
    dibs("claim", "b.py", agent="bob")
    (tree / "b.py").write_text("1\n")
    answer = dibs("commit", "-m", "fix", "b.py", agent="alice")
    assert answer.status == 3
    assert "b.py is held (bob has b.py" in answer.out
    shape = dibs("commit", "-m", "fix", "b.py", "--json", agent="alice").json
    assert (shape["outcome"], shape["code"]) == ("refused", "SCOPE")
    assert [(b["path"], b["why"], b["holder"]) for b in shape["blocked"]] == [
        ("b.py", "held", "bob")
    ]


def test_json_has_the_commit_and_its_files(tree, dibs):
    dibs("claim", "src/", agent="alice")
    (tree / "src").mkdir()
    (tree / "src/a.py").write_text("1\n")
    shape = dibs("commit", "--dry-run", "--json", agent="alice").json
    assert (shape["outcome"], shape["commit"]) == ("trial", None)
    shape = dibs("commit", "-m", "x", "--release", "--json", agent="alice").json
    assert shape["files"] == [{"path": "src/a.py", "what": "new"}]
    assert [claim["pattern"] for claim in shape["released"]] == ["src/"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert shape["commit"] == head.stdout.strip()


def test_the_message_comes_from_a_file_too(tree, dibs):
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("1\n")
    (tree / "message").write_text("-starts with a hyphen\n")
    assert dibs("commit", "-F", "message", agent="alice").status == 0
    subject = subprocess.run(
        ["git", "log", "-1", "--format=%s"], capture_output=True, text=True, check=True
    )
    assert subject.stdout == "-starts with a hyphen\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 64),
        (("-m", "x", "-F", "y"), 64),
        (("-m", "x"), 6),
        (("-m", ""), 65),
        (("-F", "gone"), 69),
    ],
)
def test_a_wrong_call_is_told_in_one_line(tree, dibs, words, status):
    answer = dibs("commit", *words, agent="alice")
    assert answer.status == status
    assert answer.err.count("\n") == 1


def test_a_lost_claim_is_exit_status_4(tree, dibs):
    dibs("claim", "a.py", agent="alice")
    (tree / "a.py").write_text("1\n")
    dibs("revoke", "a.py", "--reason", "mine")
    assert dibs("commit", "-m", "x", agent="alice").status == 4
    assert (tree / "a.py").read_text() == "1\n"
