"""From any folder of a repository, and in any spelling of a path, there is one project and one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from proof_crew import Repo, git

if TYPE_CHECKING:
    from pathlib import Path

FILE = "src/x.py"


@pytest.fixture
def linked(repo: Repo) -> Path:
    """Return a second working tree of the repository, with the same files."""
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "files")
    path = repo.path.parent / "linked"
    git(repo.path, "worktree", "add", "-q", str(path), "-b", "other")
    return path


def test_a_second_worktree_and_a_subfolder_see_the_same_claims(repo: Repo, linked: Path):
    assert repo.dibs("claim", FILE, agent="main").returncode == 0

    for place in (linked, linked / "src", repo.path / "src"):
        assert repo.claims(cwd=place) == {FILE: "main"}
        assert repo.dibs("claim", str(linked / FILE), agent="other", cwd=place).returncode == 3


def test_a_claim_taken_in_a_second_worktree_excludes_the_first(repo: Repo, linked: Path):
    assert repo.dibs("claim", "x.py", agent="there", cwd=linked / "src").returncode == 0

    assert repo.claims() == {FILE: "there"}
    assert repo.dibs("claim", "src/*", agent="here").returncode == 3
    assert repo.dibs("claim", str(linked / FILE), agent="here").returncode == 3
    assert repo.dibs("claim", FILE, agent="here").returncode == 3


def _spellings(repo: Repo, linked: Path) -> list[tuple[Path, str]]:
    top = repo.path
    (top / "alias.py").symlink_to("src/x.py")
    (top / "alias").symlink_to("src")
    outside = top.parent / "door"
    outside.symlink_to(top)
    return [
        (top, "src/x.py"),
        (top, "./src/x.py"),
        (top, "src//x.py"),
        (top, "src/./x.py"),
        (top, "src/../src/x.py"),
        (top, "SRC/x.PY"),
        (top, str(top / "src" / "x.py")),
        (top, "alias.py"),
        (top, "alias/x.py"),
        (top, str(outside / "src" / "x.py")),
        (top, str(linked / "src" / "x.py")),
        (top / "src", "x.py"),
        (top / "src", "../src/x.py"),
        (top / "src", "./x.py"),
        (outside / "src", "x.py"),
        (linked, "src/x.py"),
        (linked / "src", "x.py"),
        (linked, str(top / "src" / "x.py")),
    ]


def test_every_spelling_of_a_file_is_one_path(repo: Repo, linked: Path):
    assert repo.dibs("claim", FILE, agent="first").returncode == 0

    for cwd, spelling in _spellings(repo, linked):
        answer = repo.dibs("check", spelling, agent="second", cwd=cwd)

        assert answer.returncode == 3, f"{spelling} in {cwd}: {answer}"


def test_paths_outside_the_repository_are_refused_and_change_nothing(repo: Repo, linked: Path):
    top = repo.path
    (top.parent / "secret").write_text("")
    (top / "out").symlink_to(top.parent)
    (top / "loop").symlink_to("loop")
    escapes = [
        *("../secret", "src/../../secret", "/etc/passwd", "out/secret", "out", "loop"),
        *("loop/x", "..", ".", "src/..", str(top.parent / "secret"), "../linked-not/x", "../*"),
        *("../../*", "out/*", "a/../../secret", ".git/config", ".git", "src/../.GIT/index"),
    ]
    for escape in escapes:
        answer = repo.dibs("claim", escape, agent="sly")

        assert answer.returncode == 65, f"{escape}: {answer}"
        assert answer.stderr.count("\n") == 1
    assert repo.claims() == {}
    assert os.readlink(top / "loop") == "loop"
