"""Updating a working tree: clean files are updated, someone's changes stay."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.errors import Unavailable
from dibs.git import update_tree
from dibs.git.calls import GitCalls
from dibs.git.trees import differences
from dibs.git.update_tree import in_the_way, update_to_commit


def git(tree, *words):
    done = subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    (root / "a").write_text("old a\n")
    (root / "b").write_text("old b\n")
    (root / "d").mkdir()
    (root / "d" / "x").write_text("old x\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "old")
    return root


def commit(tree, change):
    """Commit what ``change`` does; keep the branch there, but restore index and files."""
    old = git(tree, "rev-parse", "HEAD")
    change()
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "new")
    new = git(tree, "rev-parse", "HEAD")
    git(tree, "reset", "-q", "--hard", old)
    git(tree, "update-ref", "refs/heads/main", new)
    return old, new


def move(tree, old, new):
    return update_to_commit(GitCalls(str(tree)), str(tree / ".git"), old, new)


def status(tree):
    return git(tree, "status", "--porcelain").splitlines()


def test_files_and_index_are_updated(tree):
    def change():
        (tree / "a").write_text("new a\n")
        (tree / "b").unlink()
        (tree / "n" / "m").mkdir(parents=True)
        (tree / "n" / "m" / "o").write_text("new o\n")
        (tree / "d" / "x").unlink()

    assert move(tree, *commit(tree, change)) == []

    assert status(tree) == []
    assert not (tree / "d").exists()
    assert (tree / "n" / "m" / "o").read_text() == "new o\n"


def test_a_second_update_changes_nothing(tree):
    ends = commit(tree, lambda: (tree / "a").write_text("new a\n"))
    move(tree, *ends)
    before = (tree / "a").stat()

    assert move(tree, *ends) == []

    assert status(tree) == []
    assert (tree / "a").read_text() == "new a\n"
    assert before.st_size == (tree / "a").stat().st_size


def test_files_that_someone_changed_stay_and_are_reported(tree):
    def change():
        (tree / "a").write_text("new a\n")
        (tree / "b").unlink()
        (tree / "d" / "x").write_text("new x\n")

    ends = commit(tree, change)
    (tree / "a").write_text("mine\n")
    (tree / "b").write_text("mine too\n")

    assert move(tree, *ends) == ["a", "b"]

    assert (tree / "a").read_text() == "mine\n"
    assert (tree / "b").read_text() == "mine too\n"
    assert (tree / "d" / "x").read_text() == "new x\n"
    assert status(tree) == ["M a", "?? b"]


def test_files_that_someone_staged_stay_staged(tree):
    ends = commit(tree, lambda: (tree / "a").write_text("new a\n"))
    (tree / "a").write_text("mine\n")
    git(tree, "add", "a")

    assert move(tree, *ends) == ["a"]

    assert git(tree, "show", ":a") == "mine"
    assert (tree / "a").read_text() == "mine\n"


def test_a_changed_file_marked_as_unchanged_is_not_overwritten(tree):
    ends = commit(tree, lambda: (tree / "a").write_text("new a\n"))
    git(tree, "update-index", "--assume-unchanged", "a")
    (tree / "a").write_text("mine\n")

    assert move(tree, *ends) == ["a"]
    assert (tree / "a").read_text() == "mine\n"


def test_a_link_does_not_lead_out_of_the_tree(tree, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    ends = commit(tree, lambda: (tree / "d" / "y").write_text("new y\n"))
    (tree / "d" / "x").unlink()
    (tree / "d").rmdir()
    os.symlink(outside, tree / "d")

    assert "d/y" in move(tree, *ends)
    assert os.listdir(outside) == []


def test_new_files_are_written_by_the_attributes_of_the_new_commit(tree):
    def change():
        (tree / ".gitattributes").write_text("*.crlf text eol=crlf\n")
        (tree / "t.crlf").write_text("one\ntwo\n")

    assert move(tree, *commit(tree, change)) == []

    assert (tree / "t.crlf").read_bytes() == b"one\r\ntwo\r\n"
    assert status(tree) == []


def test_a_sparse_tree_stays_sparse(tree):
    def change():
        (tree / "a").write_text("new a\n")
        (tree / "d" / "x").write_text("new x\n")

    ends = commit(tree, change)
    git(tree, "update-ref", "refs/heads/main", ends[0])
    git(tree, "sparse-checkout", "set", "--no-cone", "/a", "/b")
    git(tree, "update-ref", "refs/heads/main", ends[1])

    assert move(tree, *ends) == []

    assert (tree / "a").read_text() == "new a\n"
    assert not (tree / "d").exists()
    assert status(tree) == []


def test_a_locked_index_is_waited_for_and_then_reported(tree, monkeypatch):
    ends = commit(tree, lambda: (tree / "a").write_text("new a\n"))
    (tree / ".git" / "index.lock").write_text("")
    monkeypatch.setattr(update_tree, "PATIENCE", 0.0)

    with pytest.raises(Unavailable, match="locked"):
        move(tree, *ends)

    assert (tree / "a").read_text() == "old a\n"
    assert (tree / ".git" / "index.lock").exists()


def test_untracked_files_in_the_way_are_found(tree):
    def change():
        (tree / "n").mkdir()
        (tree / "n" / "o").write_text("new\n")
        (tree / "p").write_text("new\n")
        (tree / "d" / "x").unlink()
        (tree / "d").rmdir()
        (tree / "d").write_text("a file now\n")

    changes = differences(GitCalls(str(tree)), *commit(tree, change))
    assert in_the_way(str(tree), changes) == []

    (tree / "n").write_text("mine\n")
    (tree / "p").mkdir()
    (tree / "p" / "q").write_text("mine\n")
    (tree / "d" / "mine").write_text("mine\n")

    assert sorted(in_the_way(str(tree), changes)) == ["d/mine", "n", "p/q"]
