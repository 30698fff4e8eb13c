"""Copies of single files: what they contain, where they are, and what can delete them."""

import os
import stat
import subprocess

import pytest
from tests.services.clones import Clone, git

from dibs.errors import BadInput
from dibs.git.calls import GitCalls
from dibs.local.repository import find
from dibs.services.salvage import files
from dibs.services.salvage.files import keep, keep_files


@pytest.fixture
def clone(tmp_path, own_git):
    return Clone(tmp_path / "repo")


def save(clone, *paths, agent="alice", root=None):
    root = str(root or clone.root)
    repository = find(root, {})
    return keep_files(root, repository, agent, paths, at=1_000_000, about="a test")


def objects(folder):
    return subprocess.check_output(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"], cwd=folder
    )


def test_changed_new_and_deleted_files_are_saved_as_they_are(clone):
    (clone.root / "a").write_text("changed\n")
    (clone.root / "né w\n").write_bytes(b"x\r\n")
    (clone.root / "b").unlink()
    os.symlink("nowhere", clone.root / "link")
    (clone.root / "run").write_text("#!/bin/sh\n")
    (clone.root / "run").chmod(0o755)

    saved = save(clone, "a", "b", "né w\n", "link", "run")

    assert saved.missing == ()
    rows = git(clone.root, "ls-tree", "-z", saved.name).split("\0")
    modes = {row.partition("\t")[2]: row.split()[0] for row in rows if row}
    assert modes == {
        ".gitignore": "100644", "a": "100644", "né w\n": "100644", "link": "120000", "run": "100755",
    }  # fmt: skip
    assert clone.saved(saved.id, "a") == "changed"
    assert git(clone.root, "cat-file", "-s", f"{saved.name}:né w\n") == "3"


def test_before_the_first_commit_files_are_saved_too(tmp_path, own_git):
    (tmp_path / "repo").mkdir()
    git(tmp_path / "repo", "init", "-q")
    clone = Clone(tmp_path / "repo")
    (clone.root / "a").write_text("first\n")

    assert clone.saved(save(clone, "a").id, "a") == "first"


def test_a_worktree_s_files_are_saved_on_top_of_its_own_commit(clone, tmp_path):
    git(clone.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    (tmp_path / "tree" / "c").write_text("c\n")
    git(tmp_path / "tree", "add", "-A")
    git(tmp_path / "tree", "commit", "-q", "-m", "side")
    (tmp_path / "tree" / "a").write_text("there\n")

    saved = save(clone, "a", root=tmp_path / "tree")

    assert git(clone.root, "log", "-1", "--format=%s", f"{saved.name}^") == "side"
    assert clone.saved(saved.id, "a") == "there"


def test_unchanged_files_are_not_saved(clone):
    assert save(clone, "a", "b").id == ""
    assert clone.salvage.all() == []


def test_the_same_content_is_saved_once(clone):
    (clone.root / "a").write_text("changed\n")
    (clone.root / ".env").write_text("KEY=1\n")
    first = save(clone, "a", ".env")

    assert save(clone, "a", ".env", agent="bob").id == first.id
    (clone.root / ".env").write_text("KEY=2\n")
    assert save(clone, "a", ".env").id != first.id
    assert len(clone.salvage.all()) == 2


def test_ignored_files_are_never_in_gits_objects(clone, tmp_path):
    (clone.root / "a").write_text("changed\n")
    (clone.root / ".env").write_text("KEY=secret-value\n")
    (clone.root / ".env").chmod(0o640)
    saved = save(clone, "a", ".env")
    git(tmp_path, "init", "-q", "--bare", "mirror")
    git(clone.root, "push", "-q", "--mirror", str(tmp_path / "mirror"))

    assert b"changed" in objects(tmp_path / "mirror")
    for place in (clone.root, tmp_path / "mirror"):
        assert b"secret-value" not in objects(place)
    assert clone.ignored(saved.id) == {".env": "KEY=secret-value\n"}


def test_copies_of_ignored_files_are_readable_by_their_user_only(clone):
    (clone.root / ".env").write_text("KEY=1\n")
    save(clone, ".env")

    base = clone.root / ".git" / "dibs" / "salvage"
    for folder, _, names in os.walk(base):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600


def test_restoring_writes_both_kinds_with_their_modes_to_a_new_folder(clone, tmp_path):
    (clone.root / "a").write_text("changed\n")
    (clone.root / ".env").write_text("KEY=1\n")
    (clone.root / ".env").chmod(0o640)
    (clone.root / "build").mkdir()
    os.symlink("../.env", clone.root / "build" / "link")
    saved = save(clone, "a", ".env", "build/link")

    clone.salvage.to_folder(saved.id, str(tmp_path / "back"))

    assert (tmp_path / "back" / "a").read_text() == "changed\n"
    assert (tmp_path / "back" / ".env").read_text() == "KEY=1\n"
    assert stat.S_IMODE((tmp_path / "back" / ".env").stat().st_mode) == 0o640
    assert os.readlink(tmp_path / "back" / "build" / "link") == "../.env"
    with pytest.raises(BadInput):
        clone.salvage.to_folder(saved.id, str(tmp_path / "back"))


def test_an_entry_with_only_ignored_files_is_listed_and_restored_to_a_folder(clone, tmp_path):
    (clone.root / ".env").write_text("KEY=1\n")
    saved = save(clone, ".env")

    (listed,) = clone.salvage.all()
    assert (listed.id, listed.ref, saved.name) == (saved.id, "", saved.id)
    with pytest.raises(BadInput, match="only ignored files"):
        clone.salvage.to_branch(saved.id)
    clone.salvage.to_folder("alice", str(tmp_path / "back"))
    assert (tmp_path / "back" / ".env").read_text() == "KEY=1\n"


def test_two_entries_of_the_same_second_have_different_ids(clone):
    found = set()
    for number in range(3):
        (clone.root / "a").write_text(f"{number}\n")
        found.add(save(clone, "a").id)
        (clone.root / ".env").write_text(f"{number}\n")
        found.add(save(clone, ".env").id)

    assert len(found) == 6
    assert {one.id for one in clone.salvage.all()} == found


def test_a_file_beyond_the_limit_is_reported_and_the_others_are_saved(clone, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 100)
    (clone.root / "a").write_text("x" * 101)
    (clone.root / "b").write_text("small\n")

    saved = save(clone, "a", "b")

    assert saved.missing == ("a",)
    assert clone.saved(saved.id, "b") == "small"


@pytest.mark.parametrize(
    "moment", ["hash-object", "write-tree", "commit-tree", "index-pack", "update-ref"]
)
def test_git_gc_at_any_moment_does_not_delete_a_copy(clone, monkeypatch, moment):
    (clone.root / "a").write_text("changed\n")
    real = GitCalls.must, GitCalls.run

    def hooked(which):
        def call(self, *words, **more):
            if moment in words:
                git(clone.root, "gc", "-q", "--prune=now")
            done = real[which](self, *words, **more)
            if moment in words:
                git(clone.root, "gc", "-q", "--prune=now")
            return done

        return call

    monkeypatch.setattr(GitCalls, "must", hooked(0))
    monkeypatch.setattr(GitCalls, "run", hooked(1))
    saved = save(clone, "a")
    monkeypatch.undo()
    git(clone.root, "gc", "-q", "--prune=now")

    assert clone.saved(saved.id, "a") == "changed"
    git(clone.root, "fsck", "--connectivity-only")


def test_keep_returns_a_name_that_git_and_dibs_know(clone):
    (clone.root / "a").write_text("changed\n")
    root = str(clone.root)

    name = keep(root, find(root, {}), "human", ["a"], at=1_000_000, about="a test")

    assert name == "refs/salvage/human/19700112T134640Z"
    assert clone.salvage.show(name).changes[0].path == "a"
