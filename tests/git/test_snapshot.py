"""A snapshot contains every file that is not ignored, and makes no visible change."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.git.calls import GitCalls
from dibs.git.snapshot import snapshot, still_holds


def git(tree, *arguments, given=None):
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        cwd=tree, check=True, capture_output=True, input=given,
    ).stdout  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    place = tmp_path / "odd\nname"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    (place / ".gitignore").write_text("*.log\n")
    (place / "kept").write_text("kept\n")
    (place / "gone").write_text("gone\n")
    (place / "folder").mkdir()
    (place / "folder/file").write_text("file\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "first")
    return place


def contents(tree, oid):
    listed = git(tree, "ls-tree", "-r", "-z", "--name-only", oid).split(b"\0")
    return {
        os.fsdecode(path): git(tree, "cat-file", "blob", f"{oid}:{os.fsdecode(path)}")
        for path in listed
        if path
    }


def test_a_clean_tree_is_its_commit(tree):
    found = snapshot(GitCalls(str(tree)))
    assert not found.dirty
    assert found.tree == found.index_tree == found.head_tree
    assert found.head == git(tree, "rev-parse", "HEAD").decode().strip()


def test_every_kind_of_change_is_included_except_ignored_files(tree):
    (tree / "kept").write_text("staged\n")
    git(tree, "add", "kept")
    (tree / "kept").write_text("edited\n")
    (tree / "gone").unlink()
    (tree / "folder/file").unlink()
    (tree / "folder").rmdir()
    (tree / "folder").symlink_to("kept")
    (tree / "new\n:(top)*").write_text("new\n")
    (tree / "noise.log").write_text("noise\n")
    before = (tree / ".git/index").read_bytes()
    found = snapshot(GitCalls(str(tree)))
    assert found.dirty
    assert contents(tree, found.tree) == {
        ".gitignore": b"*.log\n", "kept": b"edited\n", "folder": b"kept", "new\n:(top)*": b"new\n",
    }  # fmt: skip
    assert contents(tree, found.index_tree)["kept"] == b"staged\n"
    assert (tree / ".git/index").read_bytes() == before


def test_a_file_may_become_a_folder(tree):
    (tree / "kept").unlink()
    (tree / "kept").mkdir()
    (tree / "kept/inner").write_text("inner\n")
    assert contents(tree, snapshot(GitCalls(str(tree))).tree)["kept/inner"] == b"inner\n"


def test_files_are_included_before_the_first_commit(tmp_path):
    git(tmp_path, "init", "-q")
    assert not snapshot(GitCalls(str(tmp_path))).dirty
    (tmp_path / "a").write_text("a\n")
    found = snapshot(GitCalls(str(tmp_path)))
    assert (found.head, found.dirty) == ("", True)
    assert contents(tmp_path, found.tree) == {"a": b"a\n"}


def test_files_are_included_despite_a_conflict_in_the_index(tree):
    git(tree, "checkout", "-q", "-b", "side")
    (tree / "kept").write_text("side\n")
    git(tree, "commit", "-q", "-am", "side")
    git(tree, "checkout", "-q", "main")
    (tree / "kept").write_text("main\n")
    git(tree, "commit", "-q", "-am", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(tree, "merge", "side")
    found = snapshot(GitCalls(str(tree)))
    assert found.index_tree == ""
    assert b"<<<<<<<" in contents(tree, found.tree)["kept"]


@pytest.mark.parametrize("commits", [0, 1])
def test_a_nested_repository_is_reported_but_not_included(tree, commits):
    inner = tree / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "work").write_text("work\n")
    if commits:
        git(inner, "add", "-A")
        git(inner, "commit", "-q", "-m", "inner")
    found = snapshot(GitCalls(str(tree)))
    assert (found.nested, found.dirty) == (("inner",), True)
    assert found.tree == found.head_tree


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_files_marked_as_unchanged_are_checked_on_request(tree, mark):
    git(tree, "update-index", mark, "kept")
    (tree / "kept").write_text("hidden\n")
    assert not snapshot(GitCalls(str(tree))).dirty
    found = snapshot(GitCalls(str(tree)), thorough=True)
    assert contents(tree, found.tree)["kept"] == b"hidden\n"


def test_quarantined_objects_do_not_reach_the_repository(tree, tmp_path):
    (tree / "new").write_text("only there\n")
    objects = tmp_path / "objects"
    objects.mkdir()
    found = snapshot(GitCalls(str(tree)), objects=str(objects))
    assert any(objects.iterdir())
    with pytest.raises(subprocess.CalledProcessError):
        git(tree, "cat-file", "-e", found.tree)


def test_a_split_index_is_not_touched(tree):
    git(tree, "update-index", "--split-index")
    git(tree, "config", "core.splitIndex", "true")
    (tree / "kept").write_text("edited\n")
    before = sorted(path.name for path in (tree / ".git").iterdir())

    found = snapshot(GitCalls(str(tree)))

    assert contents(tree, found.tree)["kept"] == b"edited\n"
    assert sorted(path.name for path in (tree / ".git").iterdir()) == before


def test_files_outside_a_sparse_checkout_do_not_count_as_deleted(tree):
    git(tree, "sparse-checkout", "set", "--cone", "elsewhere")

    assert not (tree / "folder").exists()
    assert not snapshot(GitCalls(str(tree)), thorough=True).dirty
    (tree / "folder").mkdir()
    (tree / "folder/new").write_text("new\n")
    assert contents(tree, snapshot(GitCalls(str(tree))).tree)["folder/new"] == b"new\n"


def test_reading_again_detects_differences(tree):
    git_calls = GitCalls(str(tree))
    (tree / "new").write_text("new\n")
    found = snapshot(git_calls)

    assert still_holds(git_calls, found.tree)
    (tree / "new").write_text("old\n")
    assert not still_holds(git_calls, found.tree)
