from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from dibs.errors import Misconfigured, NotFound
from dibs.local.repository import find

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can play another user")


def git(folder, *args):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    allow = ("-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *identity, *allow, *args], cwd=folder, check=True, capture_output=True, env=plain
    )


@pytest.fixture
def repo(tmp_path):
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-b", "main")
    git(top, "commit", "--allow-empty", "-m", "first")
    return top


def look(folder, **environ):
    return find(str(folder), environ)


def test_the_state_is_in_the_git_directory(repo):
    found = look(repo)

    assert found == (str(repo), str(repo / ".git"), str(repo / ".git/dibs"), "")


def test_a_subfolder_finds_the_same_state(repo):
    (repo / "a/b").mkdir(parents=True)

    found = look(repo / "a/b")

    assert found == look(repo)._replace(subdir="a/b")


def test_a_linked_worktree_finds_the_same_state(repo):
    git(repo, "worktree", "add", "../other")
    (repo.parent / "other/sub").mkdir()

    found = look(repo.parent / "other/sub")

    assert found == look(repo)._replace(root=str(repo.parent / "other"), subdir="sub")


def test_a_worktree_with_relative_pointers_finds_the_same_state(repo):
    git(repo, "worktree", "add", "../other")
    other = repo.parent / "other"
    (other / ".git").write_text("gitdir: ../repo/.git/worktrees/other\n")

    assert look(other).state == look(repo).state


def test_a_worktree_of_a_bare_repository_works(repo, tmp_path):
    git(tmp_path, "clone", "--bare", "repo", "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "../tree")

    found = look(tmp_path / "tree")

    assert found.state == str(tmp_path / "bare.git/dibs")
    assert found.root == str(tmp_path / "tree")


def test_a_bare_repository_itself_is_refused(repo, tmp_path):
    git(tmp_path, "clone", "--bare", "repo", "bare.git")

    with pytest.raises(NotFound, match="bare repository") as caught:
        look(tmp_path / "bare.git/refs")

    assert caught.value.code == "NO_REPO"
    assert "git worktree add" in caught.value.hint


def test_the_git_directory_is_not_a_working_tree(repo):
    with pytest.raises(NotFound, match="not a working tree"):
        look(repo / ".git/hooks")


def test_a_submodule_is_a_separate_project(repo, tmp_path):
    git(tmp_path, "clone", "repo", "outer")
    git(tmp_path / "outer", "submodule", "add", str(repo), "inner")

    found = look(tmp_path / "outer/inner")

    assert found.root == str(tmp_path / "outer/inner")
    assert found.state == str(tmp_path / "outer/.git/modules/inner/dibs")


def test_the_git_directory_may_be_elsewhere(tmp_path):
    (tmp_path / "tree").mkdir()
    git(tmp_path / "tree", "init", "--separate-git-dir", "../store")

    assert look(tmp_path / "tree").state == str(tmp_path / "store/dibs")


def test_symbolic_links_are_resolved(repo, tmp_path):
    (repo / "sub").mkdir()
    (tmp_path / "link").symlink_to(repo / "sub")

    assert look(tmp_path / "link") == look(repo / "sub")


def test_an_empty_folder_named_git_does_not_count(repo):
    (repo / "sub/.git").mkdir(parents=True)

    assert look(repo / "sub").root == str(repo)


def test_git_dir_and_work_tree_have_the_same_effect_as_in_git(repo, tmp_path):
    (tmp_path / "tree/sub").mkdir(parents=True)

    found = look(
        tmp_path / "tree/sub", GIT_DIR=str(repo / ".git"), GIT_WORK_TREE=str(tmp_path / "tree")
    )

    assert found == (str(tmp_path / "tree"), str(repo / ".git"), look(repo).state, "sub")


def test_git_dir_alone_makes_the_current_folder_the_top(repo, tmp_path):
    (tmp_path / "tree").mkdir()

    found = look(tmp_path / "tree", GIT_DIR="../repo/.git")

    assert (found.root, found.state) == (str(tmp_path / "tree"), look(repo).state)


def test_git_dir_of_the_surrounding_repository_keeps_its_top(repo):
    (repo / "sub").mkdir()

    assert look(repo / "sub", GIT_DIR=str(repo / ".git")) == look(repo / "sub")


def test_git_dir_of_a_worktree_as_in_hooks_gives_the_shared_state(repo):
    git(repo, "worktree", "add", "../other")

    found = look(repo.parent / "other", GIT_DIR=str(repo / ".git/worktrees/other"))

    assert found == look(repo.parent / "other")


def test_git_common_dir_has_the_same_effect_as_in_git(repo, tmp_path):
    (tmp_path / "common").mkdir()

    found = look(repo, GIT_COMMON_DIR=str(tmp_path / "common"))

    assert found.state == str(tmp_path / "common/dibs")


def test_a_folder_outside_the_named_work_tree_is_a_path_upwards(repo, tmp_path):
    (tmp_path / "tree").mkdir()

    found = look(repo, GIT_WORK_TREE=str(tmp_path / "tree"))

    assert found.subdir == "../repo"


def test_a_git_dir_that_does_not_exist_is_refused(repo):
    with pytest.raises(Misconfigured, match="GIT_DIR is 'nowhere'"):
        look(repo, GIT_DIR="nowhere")


def test_the_process_environment_counts_by_default(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.chdir(tmp_path)

    assert find().state == look(repo).state


def test_outside_any_repository_the_hint_is_to_create_one(tmp_path):
    with pytest.raises(NotFound) as caught:
        look(tmp_path)

    assert caught.value.code == "NO_REPO"
    assert "git init" in caught.value.hint


def test_a_current_folder_that_was_deleted_gives_one_clear_line(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(NotFound, match="current folder no longer exists") as caught:
        find("", {})

    assert caught.value.code == "NO_REPO"


@pytest.mark.parametrize("start", ["missing", "a-file", "nul\0"])
def test_a_start_that_is_not_a_folder_is_refused(repo, start, monkeypatch):
    (repo / "a-file").touch()
    monkeypatch.chdir(repo)

    with pytest.raises(NotFound, match="is not a folder"):
        find(start, {})


def test_a_worktree_whose_repository_is_missing_says_so(repo):
    git(repo, "worktree", "add", "../other")
    shutil.rmtree(repo)

    with pytest.raises(Misconfigured, match="is not a git directory") as caught:
        look(repo.parent / "other")

    assert "git worktree repair" in caught.value.hint


def test_a_missing_common_directory_says_so(repo):
    git(repo, "worktree", "add", "../other")
    (repo / ".git/worktrees/other/commondir").write_text("../nowhere\n")

    with pytest.raises(Misconfigured, match="does not exist"):
        look(repo.parent / "other")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff\xfe"])
def test_a_git_file_that_points_nowhere_is_refused(tmp_path, content):
    (tmp_path / ".git").write_bytes(content)

    with pytest.raises(Misconfigured, match="does not point to a git directory"):
        look(tmp_path)


class AnotherUser:
    """Act as an unprivileged user."""

    def __enter__(self):
        os.seteuid(54321)

    def __exit__(self, *_):
        os.seteuid(0)


@pytest.fixture
def public():
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@as_root
def test_a_repository_of_another_user_is_refused(public):
    git(public, "init", "-b", "main")
    os.chown(public / ".git", 12345, 12345)

    with AnotherUser(), pytest.raises(Misconfigured, match="another user"):
        look(public)


@as_root
def test_files_of_root_are_trusted(public):
    git(public, "init", "-b", "main")

    with AnotherUser():
        found = look(public)

    assert found.root == str(public)


@as_root
def test_a_git_directory_that_cannot_be_read_gives_one_clear_line(public):
    git(public, "init", "-b", "main")
    (public / ".git").chmod(0o000)

    with AnotherUser(), pytest.raises(Misconfigured, match="permission denied"):
        look(public)
