"""Every command that commit, merge, worktree, salvage, and the git hooks suggest works when it is pasted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

import pytest


def git(*words, check=True, **options):
    done = subprocess.run(
        ["git", *words], capture_output=True, text=True, check=False, env=os.environ, **options
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def shop(repo, dibs, monkeypatch):
    """A repository in which bob holds b.py and has changed it."""
    monkeypatch.setenv("HOME", str(repo.parent))
    git("symbolic-ref", "HEAD", "refs/heads/main")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    for name in ("a.py", "b.py"):
        (repo / name).write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    assert dibs("claim", "b.py", agent="bob").status == 0
    (repo / "b.py").write_text("2\n")
    return repo


@pytest.fixture
def paste(dibs):
    """Return a function that runs the first suggested command that starts with some words."""

    def run(text, start, agent="you"):
        found = re.search(rf"dibs ({start}[^;`()\n]*)", text)
        assert found, text
        who = {"agent": agent} if agent != "you" else {}
        return dibs(*shlex.split(found[1]), **who)

    return run


def test_a_refused_commit_suggests_how_to_get_the_files(shop, dibs, paste):
    (shop / "it is new").write_text("1\n")
    said = dibs("commit", "-m", "x", "b.py", "it is new", agent="alice").out

    assert paste(said, "claim 'it", agent="alice").status == 0
    assert paste(said, "ask b.py", agent="alice").status == 0
    dibs("release", "b.py", agent="bob")
    assert paste(said, "claim b.py --wait", agent="alice").status == 0
    said = dibs("commit", "-m", "x", "b.py", "it is new", agent="alice").out
    assert paste(said, "commit --inherited").status == 0


@pytest.mark.parametrize("start", ["ask", "claim", "revoke"])
def test_a_refused_git_commit_suggests_commands_that_work(shop, dibs, paste, start):
    dibs("git", "install")
    said = git("commit", "-qam", "all", check=False)
    if start == "claim":
        dibs("release", "b.py", agent="bob")

    assert paste(said, start).status == 0


def test_a_refused_git_commit_suggests_a_commit_of_the_own_files(shop, dibs, paste, monkeypatch):
    dibs("git", "install")
    dibs("claim", "a.py", agent="alice")
    (shop / "a.py").write_text("2\n")
    monkeypatch.setenv("DIBS_AGENT", "alice")
    said = git("commit", "-qam", "all", check=False)
    assert "revoke" not in said, "only humans can revoke"

    assert paste(said, "commit", agent="alice").status == 0

    assert git("status", "--short") == " M b.py\n"


def test_a_worktree_with_work_suggests_how_to_salvage_and_show_it(shop, dibs, paste):
    dibs("worktree", "new", "zoe")
    folder = dibs("worktree", "env", "zoe", "--json").json["DIBS_WORKTREE"]
    with open(f"{folder}/new", "w") as file:
        file.write("1\n")

    kept = dibs("worktree", "rm", "zoe")
    removed = paste(kept.out, "worktree rm")
    shown = paste(removed.out, "salvage show")

    assert (kept.status, removed.status, shown.status) == (3, 0, 0)
    (command,) = re.findall(r"git show \S+", shown.out)
    assert "+1" in git(*shlex.split(command)[1:])


def test_an_unclaimed_branch_suggests_the_claim_that_makes_it_mergeable(shop, dibs, paste):
    dibs("worktree", "new", "zoe")
    folder = dibs("worktree", "env", "zoe", "--json").json["DIBS_WORKTREE"]
    with open(f"{folder}/it is new", "w") as file:
        file.write("1\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "x", cwd=folder)
    git("checkout", "-q", "b.py")

    said = dibs("merge", agent="zoe")

    assert said.status == 3
    assert paste(said.out, "claim", agent="zoe").status == 0
    assert dibs("merge", agent="zoe").status == 0


def test_a_merge_that_another_claim_blocks_suggests_a_request(shop, dibs, paste):
    dibs("worktree", "new", "zoe")
    folder = dibs("worktree", "env", "zoe", "--json").json["DIBS_WORKTREE"]
    git("checkout", "-q", "b.py")
    with open(f"{folder}/b.py", "w") as file:
        file.write("3\n")
    git("commit", "-qam", "x", cwd=folder)
    dibs("release", "b.py", agent="bob")
    dibs("claim", "b.py", agent="zoe")
    dibs("transfer", "b.py", "--to", "bob", agent="zoe")

    said = dibs("merge", agent="zoe")

    assert said.status == 3, said
    assert paste(said.out, "ask", agent="zoe").status == 0
