"""Folder and glob claims also watch files that `git status` does not list as changed."""

import os

import pytest
from tests.services.guard.uncommitted.test_attribution import (
    ONE,
    TWO,
    A,
    B,
    command,
    foreign,
    told,
)
from tests.services.guards import Guarded

from dibs.git.calls import GitCalls
from dibs.services.guard.uncommitted import hidden_files
from dibs.services.salvage.entries import show


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    found.write(".gitignore", "*.secret\n*.log\ndist/\n__pycache__/\n")
    for path in ("src/a.py", "src/b.py", "other/c.py"):
        found.write(path, "first\n")
    found.commit()
    for path in ("src/k.secret", "src/x.log", "dist/app.js", "src/__pycache__/a.pyc"):
        found.write(path, "first\n")
    for session in (A, B):
        found.start(session)
    found.claim(ONE, "src/**")
    found.clock.now += 5
    return found


def reported(guarded):
    """Return the paths of the last report, after checking that both know and the old content is there."""
    entries = foreign(guarded)
    if not entries:
        return []
    last = entries[0]
    paths = last.details["paths"]
    assert not last.details["lost"]
    assert paths[0] in told(guarded, ONE)
    assert paths[0] in told(guarded, TWO)
    ref = last.details["salvage"]
    if ref:
        entry = show(GitCalls(guarded.root), ref.removeprefix("refs/salvage/"))
        assert entry is not None
    return paths


@pytest.mark.parametrize("pattern", ["src/", "src/**", "src/*"])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("echo x > src/k.secret", "src/k.secret"),
        ("rm src/k.secret", "src/k.secret"),
        ("echo x > src/new.secret", "src/new.secret"),
        ("echo x > src/a.py; git commit -qam x", "src/a.py"),
        ("echo x > src/new.py; git add .; git commit -qm x", "src/new.py"),
        ("git rm -q src/b.py; git commit -qm x", "src/b.py"),
    ],
)
def test_a_change_that_git_status_hides_is_reported(guarded, text, path, pattern):
    guarded.claim(ONE, pattern)
    text = text.replace("git commit", "git -c user.name=t -c user.email=t@t commit")

    command(guarded, B, text)

    assert reported(guarded) == [path]


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_a_file_that_git_does_not_check_is_reported_with_a_copy(guarded, flag):
    guarded.git("update-index", flag, "src/a.py")
    guarded.write("src/a.py", "local\n")

    command(guarded, B, "echo x > src/a.py")

    assert reported(guarded) == ["src/a.py"]
    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "local"


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_a_file_that_a_command_hides_from_git_and_changes_is_reported(guarded, flag):
    guarded.write("run.sh", f"git update-index {flag} src/a.py src/b.py; echo x > src/a.py\n")

    command(guarded, B, "sh run.sh")

    assert reported(guarded) == ["src/a.py"]


def test_files_that_a_sparse_checkout_removes_are_reported(guarded):
    command(guarded, B, "git sparse-checkout set --no-cone other")

    assert reported(guarded) == ["src/a.py", "src/b.py"]


def test_a_committed_change_saves_the_content_of_the_old_commit(guarded):
    command(guarded, B, "echo x > src/a.py; git -c user.name=t -c user.email=t@t commit -qam x")

    ref = foreign(guarded)[0].details["salvage"]
    assert guarded.git("show", f"{ref}:src/a.py") == "first"


def test_ignored_output_is_reported_only_for_a_claim_that_names_it(guarded):
    command(guarded, B, "echo x > src/x.log; echo x > dist/app.js; echo x > src/__pycache__/a.pyc")
    assert not foreign(guarded)

    guarded.claim(ONE, "dist/**", "src/*.log")
    command(guarded, B, "echo y > src/x.log; echo y > dist/app.js; echo y > dist/new.js")
    assert sorted(reported(guarded)) == ["dist/app.js", "dist/new.js", "src/x.log"]


def test_the_agents_own_and_free_files_are_not_reported(guarded):
    commit = "git -c user.name=t -c user.email=t@t commit -qam x"
    command(guarded, B, f"echo x > other/c.py; {commit}; touch src/a.py; echo x > other/n.secret")

    assert not foreign(guarded)


def test_a_huge_ignored_folder_is_looked_at_within_limits(guarded, monkeypatch):
    guarded.claim(ONE, "dist/**")
    for number in range(30):
        guarded.write(f"dist/{number}/x.js", "first\n")
    monkeypatch.setattr(hidden_files, "_MOST_SEEN", 10)

    command(guarded, B, "true")

    assert not foreign(guarded)


def test_a_switch_to_another_commit_by_a_script_is_reported(guarded):
    guarded.git("branch", "old")
    guarded.write("src/a.py", "second\n")
    guarded.commit()

    command(guarded, B, "git checkout -q old")

    assert reported(guarded) == ["src/a.py"]
    assert os.path.exists(f"{guarded.root}/src/a.py")
