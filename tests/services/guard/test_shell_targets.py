"""Files that a shell command would write, according to the disk and git."""

import os
import subprocess

import pytest
from tests.services.guards import Guarded

from dibs.services.guard.shell_targets import written_paths


@pytest.fixture
def guarded(tmp_path, own_git):
    found = Guarded(tmp_path / "repo")
    for name in ("src/a.py", "src/b.py", "docs/c.md", "top.py"):
        found.write(name, "1\n")
    found.commit()
    return found


def paths(guarded, command, cwd=""):
    found = written_paths(guarded.repository, command, cwd or guarded.root, fold_case=True)
    return sorted(f"{one.path}/" if one.deep else one.path for one in found)


RESOLVED = (
    ("rm src/*.py", ["src/a.py", "src/b.py"]),
    ("rm nothing/*.py", []),
    ("cp top.py src", ["src/top.py"]),
    ("cp top.py other.py", ["other.py"]),
    ("mv src docs", ["docs/src", "src/"]),
    ("rm -rf src top.py", ["src/", "top.py"]),
    ("mkdir new && touch new/x", ["new/x"]),
    ("black src top.py", ["src/", "top.py"]),
    (
        "cd src && rm a.py && cd $(git rev-parse --show-toplevel) && rm top.py",
        ["src/a.py", "top.py"],
    ),
    ("echo x > /tmp/elsewhere; echo x > ../out", []),
)


def test_paths_are_resolved_on_disk(guarded):
    assert [(command, paths(guarded, command)) for command, _ in RESOLVED] == list(RESOLVED)


def test_git_is_checked_by_the_files_it_would_change(guarded):
    guarded.git("branch", "old")
    guarded.write("src/a.py", "2\n")
    guarded.commit()
    guarded.write("top.py", "dirty\n")
    guarded.write("new.py", "new\n")

    assert paths(guarded, "git stash") == ["top.py/"]
    assert paths(guarded, "git stash -u") == ["new.py/", "top.py/"]
    assert paths(guarded, "git reset --hard") == ["top.py/"]
    assert paths(guarded, "git reset --hard old") == ["src/a.py/", "top.py/"]
    assert paths(guarded, "git switch old") == ["src/a.py/"]
    assert paths(guarded, "git checkout old") == ["src/a.py/"]
    assert paths(guarded, "git checkout top.py") == ["top.py/"]
    assert paths(guarded, "git clean -fd") == ["new.py/"]
    assert paths(guarded, "git stash; echo x > top.py") == ["top.py"]
    assert paths(guarded, "git clean -fd src") == ["src/"]
    assert paths(guarded, "git clean -fd ..", f"{guarded.root}/src") == ["/", "new.py/"]
    assert paths(guarded, "git cherry-pick HEAD") == ["src/a.py/"]
    assert paths(guarded, "git merge old") == []
    assert paths(guarded, "git commit -am x") == ["top.py/"]
    assert paths(guarded, "git commit -m x") == []
    assert paths(guarded, "git add -A && git commit -m x") == ["new.py/", "top.py/"]
    assert paths(guarded, "git add . && git commit -m x") == ["new.py/", "top.py/"]
    assert paths(guarded, "git add '*.py' && git commit -m x") == ["new.py/", "top.py/"]
    assert paths(guarded, "git add new.py src && git commit -m x") == ["new.py/"]
    assert paths(guarded, "git commit -m x top.py") == ["top.py/"]
    assert paths(guarded, "git add -A") == []
    guarded.git("add", "new.py")
    assert paths(guarded, "git commit -m x top.py") == ["top.py/"]
    assert paths(guarded, "git commit -m x") == ["new.py/"]


@pytest.mark.parametrize("verb", ["merge", "rebase", "cherry-pick", "revert", "am"])
def test_aborting_changes_files_only_while_git_has_something_to_abort(guarded, verb):
    guarded.git("switch", "-q", "-c", "old")
    guarded.write("src/a.py", "2\n")
    guarded.commit()
    guarded.git("switch", "-q", "main")
    guarded.write("src/a.py", "3\n")
    guarded.commit()
    guarded.write("top.py", "dirty\n")

    assert paths(guarded, f"git {verb} --abort") == []

    guarded.git("restore", "top.py")
    with pytest.raises(subprocess.CalledProcessError):
        guarded.git("merge", "old")
    assert paths(guarded, f"git {verb} --abort") == ["src/a.py/"]
    assert paths(guarded, f"git {verb} --quit") == []


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git stash push -q -- src/a.py && git stash pop -q", ["src/a.py"]),
        ("git stash -q && git stash apply && git stash pop", ["src/a.py/"]),
        ("git stash pop && git stash -q", ["src/a.py/", "top.py/"]),
        ("git stash -q; git stash pop; git stash pop", ["src/a.py/", "top.py/"]),
        ("git stash -q; git stash pop stash@{1}", ["src/a.py/"]),
    ],
)
def test_a_stash_that_the_command_itself_made_is_not_confused_with_the_last_one(
    guarded, command, wanted
):
    guarded.write("top.py", "2\n")
    guarded.git("stash")
    guarded.write("src/a.py", "2\n")

    assert paths(guarded, command) == wanted


def test_git_in_another_folder_is_checked_there(guarded, tmp_path):
    guarded.git("worktree", "add", "-q", str(tmp_path / "other"))
    (tmp_path / "other/top.py").write_text("dirty")

    assert paths(guarded, "git stash") == []
    assert paths(guarded, f"cd {tmp_path}/other && git stash") == ["top.py/"]
    assert paths(guarded, f"git -C {tmp_path}/other stash") == ["top.py/"]


def test_if_git_fails_no_file_is_named(guarded):
    os.rename(f"{guarded.root}/.git/HEAD", f"{guarded.root}/.git/gone")

    assert paths(guarded, "git stash") == []


def test_a_quoted_name_with_brackets_is_literal(guarded):
    guarded.write("app/[id].py")

    assert paths(guarded, "rm 'app/[id].py'") == ["app/[id].py"]


def test_a_whole_working_tree_can_be_a_target(guarded, tmp_path):
    guarded.git("worktree", "add", "-q", str(tmp_path / "other"))

    for command in ("git restore :/", 'black "$PWD"', "rm -rf ../repo"):
        assert paths(guarded, command) == ["/"], command
    found = written_paths(guarded.repository, "rm -rf ../other", guarded.root, fold_case=True)
    assert [one.elsewhere for one in found] == [str(tmp_path / "other")]
