"""``dibs init`` and uninstall in unusual states: kills, changed options, edits, unusual repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.wirings import git, tree

from dibs.guard.git.install import GitHooks

pytestmark = pytest.mark.usefixtures("home")

COMMIT = ("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "first", "--allow-empty")


def excluded(common):
    return (Path(common) / "info" / "exclude").read_bytes()


def test_files_that_become_shared_are_no_longer_ignored_by_git(dibs, repo):
    before = excluded(".git")
    dibs("init", "--agents", "claude,codex")

    dibs("init", "--shared")

    assert excluded(".git") == before
    seen = git("status", "--porcelain", "-uall")
    assert ".codex/hooks.json" in seen
    assert ".mcp.json" in seen


def test_the_exclude_file_is_restored_in_a_separate_git_directory(dibs, tmp_path):
    apart, inner = tmp_path / "apart", tmp_path / "inner.git"  # as in a submodule
    git("init", "-q", "--separate-git-dir", str(inner), str(apart))
    before = excluded(inner), tree(apart)

    dibs("init", "--agents", "claude", "--repo", str(apart))
    assert b".mcp.json" in excluded(inner)
    dibs("init", "--uninstall", "--repo", str(apart))

    assert (excluded(inner), tree(apart)) == before


def test_the_exclude_line_stays_until_the_last_worktree_is_uninstalled(dibs, repo, tmp_path):
    git(*COMMIT)
    bare = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(repo), str(bare))
    sides = [tmp_path / name for name in ("one", "two")]
    for side in sides:
        git("-C", str(bare), "worktree", "add", "-q", str(side))
    before = excluded(bare)

    for side in sides:
        dibs("init", "--agents", "claude", "--repo", str(side))
    dibs("init", "--uninstall", "--repo", str(sides[0]))
    assert b".mcp.json" in excluded(bare)
    assert git("-C", str(sides[1]), "status", "--porcelain").split() == [
        *("??", "AGENTS.md", "??", "dibs.toml")
    ]
    dibs("init", "--uninstall", "--repo", str(sides[1]))

    assert excluded(bare) == before


#: Is killed when it replaces the first agent file.
KILLED = """
import os
from dibs.cli import program
replace = os.replace
def last(draft, place):
    if ".claude" in place:
        os.kill(os.getpid(), 9)
    replace(draft, place)
os.replace = last
program()
"""


def test_a_kill_leaves_no_draft_in_the_working_tree(dibs, repo):
    before = tree(repo)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "init", "--agents", "claude"], check=False
    )
    assert killed.returncode == -9
    dibs("init", "--uninstall")

    assert tree(repo) == before


def test_uninstall_removes_git_hooks_after_a_kill_during_init(dibs, repo, monkeypatch):
    install = GitHooks.install

    def last(hooks):
        install(hooks)
        raise KeyboardInterrupt

    monkeypatch.setattr(GitHooks, "install", last)
    dibs("init", "--agents", "claude")
    monkeypatch.undo()
    monkeypatch.chdir(repo)
    assert has_git_hooks(repo)

    dibs("init", "--uninstall")

    assert not has_git_hooks(repo)


def test_uninstall_removes_git_hooks_after_a_killed_uninstall(dibs, repo, monkeypatch):
    dibs("init", "--agents", "claude")
    uninstall = GitHooks.uninstall

    def last(hooks):
        monkeypatch.setattr(GitHooks, "uninstall", uninstall)
        raise KeyboardInterrupt

    monkeypatch.setattr(GitHooks, "uninstall", last)
    dibs("init", "--uninstall")
    assert has_git_hooks(repo)

    dibs("init", "--uninstall")

    assert not has_git_hooks(repo)


def has_git_hooks(root):
    return (root / ".git" / "hooks" / "pre-commit").exists()


def test_a_page_that_includes_another_gets_no_block(dibs, repo):
    page = repo / "CLAUDE.md"
    page.write_text("@AGENTS.md\n")

    dibs("init", "--agents", "claude,codex")
    first = tree(repo)
    dibs("init", "--agents", "claude,codex")

    assert tree(repo) == first
    assert page.read_text() == "@AGENTS.md\n"


def test_an_error_names_the_file_that_cannot_be_written(dibs, repo, monkeypatch):
    def refuse(draft, place):
        if ".claude" not in place:
            return replace(draft, place)
        raise PermissionError(13, "Permission denied", draft, None, place)

    replace = os.replace
    monkeypatch.setattr(os, "replace", refuse)
    answer = dibs("init", "--agents", "claude")

    assert answer.status == 69
    assert "settings.local.json: Permission denied" in answer.err
