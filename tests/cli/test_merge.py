"""The output and exit status of ``dibs merge``."""

from __future__ import annotations

import subprocess

import pytest


def git(tree, *words):
    done = subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def begun(repo, monkeypatch):
    """A repository with a commit, and bob's worktree next to it."""
    monkeypatch.setenv("HOME", str(repo.parent))
    git(repo, "symbolic-ref", "HEAD", "refs/heads/main")
    git(repo, "config", "user.name", "Ann")
    git(repo, "config", "user.email", "ann@example.org")
    (repo / "a.txt").write_text("a\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "first")
    git(repo, "worktree", "add", "-q", "-b", "agent/bob", repo.parent / "bob")
    return repo


@pytest.fixture
def bob(begun):
    return begun.parent / "bob"


def test_dibs_commits_are_merged_after_the_claims_are_released(dibs, begun, bob):
    dibs("claim", "a.txt", agent="bob")
    (bob / "a.txt").write_text("of bob\n")
    done = dibs("commit", "-m", "work", "--release", "--repo", str(bob), agent="bob")
    assert done.status == 0, done

    answer = dibs("merge", agent="bob")

    assert answer.status == 0, answer
    assert answer.out.startswith("ok agent/bob: merged as ")
    assert (begun / "a.txt").read_text() == "of bob\n"


def test_a_dibs_commit_is_merged_after_a_rebase(dibs, begun, bob):
    dibs("claim", "b.txt", agent="bob")
    (bob / "b.txt").write_text("of bob\n")
    dibs("commit", "-m", "work", "--release", "--repo", str(bob), agent="bob")
    (begun / "a.txt").write_text("of ann\n")
    git(begun, "commit", "-qam", "ann")
    git(bob, "rebase", "-q", "main")

    assert dibs("merge", agent="bob").status == 0


def test_a_refusal_shows_path_commit_reason_and_next_step(dibs, begun, bob):
    (bob / "a.txt").write_text("of bob\n")
    git(bob, "commit", "-qam", "work")

    answer = dibs("merge", agent="bob")

    oid = git(bob, "rev-parse", "HEAD")[:10]
    assert answer.status == 3
    assert answer.out.splitlines()[:2] == [
        "refused agent/bob: 1 file outside its agent's claims",
        f"  a.txt: bob had not claimed it in {oid}",
    ]
    assert "dibs claim" in answer.out


def test_json_has_a_code_for_each_branch(dibs, begun, bob):
    (bob / "a.txt").write_text("of bob\n")
    git(bob, "commit", "-qam", "work")

    (branch,) = dibs("merge", "--json", agent="bob").json["branches"]

    assert (branch["outcome"], branch["code"]) == ("scope", "SCOPE")
    assert branch["outside"][0]["path"] == "a.txt"
    assert branch["next"]


def test_without_an_own_branch_the_checked_out_one_is_merged(dibs, begun, bob):
    git(bob, "checkout", "-q", "-b", "topic")
    dibs("claim", "a.txt", agent="zoe")
    (bob / "a.txt").write_text("of zoe\n")
    git(bob, "commit", "-qam", "work")

    answer = dibs("merge", "--repo", str(bob), agent="zoe")

    assert answer.out.startswith("ok topic: merged as ")


def test_a_busy_queue_is_reported_like_a_denied_claim(dibs, begun, bob):
    dibs("claim", "@merge/main", agent="eve")
    dibs("claim", "a.txt", agent="bob")
    (bob / "a.txt").write_text("of bob\n")
    git(bob, "commit", "-qam", "work")

    answer = dibs("merge", "--wait", "0", "--json", agent="bob")

    assert answer.status == 3
    assert answer.json["conflicts"][0]["holder"] == "eve"


def test_an_invalid_test_command_is_refused_before_anything_happens(dibs, begun, bob):
    answer = dibs("merge", "agent/bob", "--test", "sh -c 'open", "--json")

    assert answer.status == 65
    assert "COMMAND" in answer.out + answer.err
