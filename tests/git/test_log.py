"""The changes of commits, read in three ways, are those that plain git reports, even for odd paths."""

from __future__ import annotations

import random
import subprocess

import pytest
from tests.services.commit_world import World

from dibs.git.calls import GitCalls
from dibs.git.incoming import new_commits
from dibs.git.log import changes_between, commits

NAMES = ("a", "b:c", ":d", "e\nf", "\ng", "x/y", "x/:z", "with space", "::100644 1 2 M")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A history with odd names, empty commits, messages that look like rows, and merges."""
    world, chance = World(tmp_path_factory.mktemp("history")), random.Random(5)
    for number in range(12):
        for name in chance.sample(NAMES, chance.randint(0, 3)):
            world.put(name, f"{chance.random()}")
        world.git("add", "-A")
        world.git("commit", "-q", "--allow-empty", "-m", f"{number}\n\n:100644 100644 1 2 M")
        if number % 5 == 4:
            world.git("checkout", "-q", "-b", f"side{number}", "HEAD~2")
            world.put(f"side{number}", "aside")
            world.git("add", "-A")
            world.git("commit", "-q", "-m", "aside")
            world.git("checkout", "-q", "main")
            world.git("merge", "-q", "--no-ff", "-m", "joined", f"side{number}")
    return world


def changed(world, *commits):
    words = (
        "diff-tree",
        "-r",
        "-c",
        "--root",
        "--no-commit-id",
        "--name-only",
        "--no-renames",
        "-z",
    )
    out = subprocess.run(
        ["git", *words, *commits], cwd=world.root, check=True, capture_output=True, text=True
    ).stdout
    return {path for path in out.split("\0") if path}


def test_each_commit_has_the_paths_that_git_reports(world):
    first = world.git("rev-list", "--max-parents=0", "HEAD")
    found = commits(GitCalls(world.root), first, world.head())
    assert len(found) > 12
    for commit in found:
        assert set(commit.paths) == changed(world, commit.oid)


def test_new_commits_have_the_new_state_of_each_path(world):
    found = new_commits(GitCalls(world.root), world.head(), known=())
    assert len(found) > 13
    for commit in found:
        assert {change.path for change in commit.changes} == changed(world, commit.oid)
        for change in commit.changes:
            listed = world.git(
                "--literal-pathspecs", "ls-tree", "-z", commit.oid, "--", change.path
            )
            assert listed.partition("\t")[0].replace(" blob ", " ") == change.after


def test_two_commits_differ_in_the_paths_that_git_reports(world):
    all_of_them = world.git("rev-list", "HEAD").split()
    pairs = [(one, other) for one in all_of_them[:7] for other in all_of_them[-7:]]
    found = changes_between(GitCalls(world.root), pairs)
    assert {pair: set(touched.paths) for pair, touched in found.items()} == {
        pair: changed(world, *pair) for pair in pairs
    }
