"""Git that is configured to run programs does not count as read-only."""

import os
import threading

import pytest
from tests.services.guards import Guarded

from dibs.core.toolcalls.values import EventKind, HookEvent
from dibs.services.guard.call_paths import CallPaths
from dibs.services.guard.git_programs import git_runs_programs


@pytest.fixture
def guarded(tmp_path, own_git, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    os.makedirs(tmp_path / "home")
    return Guarded(tmp_path / "repo")


def is_watched(guarded, command, cwd=""):
    paths = CallPaths(guarded.repository, guarded.store.config, fold_case=True)
    return paths.is_watched(HookEvent("claude", EventKind.BEFORE, "s", command=command, cwd=cwd))


def test_a_reading_git_command_is_not_watched(guarded):
    assert not is_watched(guarded, "git status && git log -3 | cat")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./run"), ("diff.external", "./run"), ("diff.x.textconv", "./run"),
        ("diff.x.command", "./run"), ("filter.x.clean", "./run"), ("filter.x.process", "./run"),
        ("core.pager", "./run"), ("core.sshCommand", "./run"), ("remote.origin.uploadpack", "./run"),
        ("credential.helper", "!./run"),
    ],
)  # fmt: skip
def test_a_program_in_the_configuration_makes_reading_commands_watched(guarded, key, value):
    guarded.git("config", key, value)

    assert is_watched(guarded, "git status")
    assert not is_watched(guarded, "ls")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "true"), ("alias.x", "!./run"), ("user.name", "x"),
        ("filter.lfs.process", "git-lfs filter-process"), ("core.hooksPath", ".githooks"),
    ],
)  # fmt: skip
def test_settings_that_run_nothing_here_keep_the_shortcut(guarded, key, value):
    guarded.git("config", key, value)

    assert not is_watched(guarded, "git status")


def test_git_in_another_repository_is_watched(guarded, tmp_path):
    guarded.git("init", "-q", str(tmp_path / "other"))
    guarded.git("init", "-q", "inner")
    os.makedirs(f"{guarded.root}/src/deep")

    for folder in (tmp_path / "other", "inner", "$UNKNOWN"):
        assert is_watched(guarded, f"cd {folder} && git status")
    assert is_watched(guarded, "git status", str(tmp_path / "other"))
    assert not is_watched(guarded, "git status", f"{guarded.root}/src")
    for folder in ("src/deep", guarded.root, '"$(git rev-parse --show-toplevel)"'):
        assert not is_watched(guarded, f"cd {folder} && git status", guarded.root)


def test_the_settings_of_every_worktree_count(guarded, tmp_path):
    guarded.git("config", "extensions.worktreeConfig", "true")
    guarded.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert not git_runs_programs(guarded.repository)
    guarded.git("-C", str(tmp_path / "tree"), "config", "--worktree", "diff.external", "./run")
    assert git_runs_programs(guarded.repository)


def test_included_files_the_users_files_and_hooks_count(guarded, tmp_path):
    guarded.git("config", "include.path", "../more")
    assert not git_runs_programs(guarded.repository)
    guarded.write("more", '[diff "x"]\n\ttextconv = ./run\n')
    assert git_runs_programs(guarded.repository)
    os.unlink(f"{guarded.root}/more")
    (tmp_path / "home/.gitconfig").write_text("[core]\n\tpager = delta\n")
    assert not git_runs_programs(guarded.repository)
    (tmp_path / "home/.gitconfig").write_text("[core]\n\tfsmonitor = ./run\n")
    assert git_runs_programs(guarded.repository)
    os.unlink(tmp_path / "home/.gitconfig")
    guarded.git("config", "core.hooksPath", "hooks")
    guarded.write("hooks/post-index-change", "#!/bin/sh\n")
    os.chmod(f"{guarded.root}/hooks/post-index-change", 0o755)
    assert git_runs_programs(guarded.repository)


def test_a_fifo_in_place_of_included_settings_is_not_waited_for(guarded, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    guarded.git("config", "include.path", str(tmp_path / "fifo"))
    found = []
    asking = threading.Thread(
        target=lambda: found.append(git_runs_programs(guarded.repository)), daemon=True
    )

    asking.start()
    asking.join(10)

    assert found == [False]
