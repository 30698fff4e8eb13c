"""The state of a working tree, whatever its folder is called."""

from __future__ import annotations

import os
import subprocess

import pytest

from dibs.errors import Unavailable
from dibs.git.calls import GitCalls
from dibs.git.state import read_state


def git(tree, *words):
    names = ("-c", "user.name=t", "-c", "user.email=t@t")
    done = subprocess.run(["git", *names, *words], cwd=tree, check=True, capture_output=True)
    return os.fsdecode(done.stdout).removesuffix("\n")


@pytest.mark.parametrize("name", ["plain", "two\nlines", "a\nfalse\nb", "sha1\nsha1", "\n"])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_main_and_linked_trees_work_in_any_folder(tmp_path, name, hashes):
    top, linked = tmp_path / name, tmp_path / f"{name} linked"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", f"--object-format={hashes}")
    unborn = read_state(GitCalls(str(top)))
    assert (unborn.head, unborn.ref) == ("", "refs/heads/main")
    git(top, "commit", "-q", "--allow-empty", "-m", "first")
    git(top, "worktree", "add", "-q", "-b", "other", str(linked))
    common = os.path.realpath(top / ".git")
    for tree, ref in ((top, "refs/heads/main"), (linked, "refs/heads/other")):
        state = read_state(GitCalls(str(tree)))
        assert state.git_dir == git(tree, "rev-parse", "--absolute-git-dir")
        assert (state.common, state.ref) == (common, ref)
        assert state.head == git(tree, "rev-parse", "HEAD")


def test_a_folder_without_a_repository_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(Unavailable) as refused:
        read_state(GitCalls(str(tmp_path)))
    assert refused.value.code == "REPO_STATE"
