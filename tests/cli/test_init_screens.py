"""The screens of ``dibs init``: what they say in each situation, and that every suggested command works."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time

import pytest
from tests.cli.wirings import tree

from dibs.guard.git.scripts import HOOKS
from dibs.install.agents.table import AGENTS

PATH = os.environ["PATH"]
pytestmark = pytest.mark.usefixtures("home")


def suggested(out):
    """Return the commands below ``next:``, each without its description."""
    lines = out.partition("next:\n")[2].splitlines()
    return [line.strip().partition("  ")[0] for line in lines if line.startswith("  dibs ")]


def test_the_first_screen_says_what_was_created_and_what_to_run_next(dibs, repo):
    out = dibs("init", "--agents", "claude,codex").out

    assert out.startswith(f"initialized Dibs in {repo}\nagents: Claude Code, Codex CLI\n")
    assert "  created  .claude/settings.local.json   hooks\n" in out
    assert f"  created  {len(HOOKS)} git hooks (to list them: `dibs git status`)\n" in out
    assert "\none-time setup:\n  Claude Code asks once whether to trust this folder" in out
    assert suggested(out) == ["dibs doctor --prove", "dibs status"]


@pytest.mark.parametrize("agents", ["none", "claude", ",".join(AGENTS)])
def test_every_command_under_next_works(dibs, repo, agents, monkeypatch):
    monkeypatch.setenv("PATH", PATH)
    commands = suggested(dibs("init", "--agents", agents).out)

    assert commands
    for command in commands:
        done = dibs(*shlex.split(command)[1:])
        assert done.status == (65 if "NOT active until trusted" in done.out else 0), command


def test_uninstall_says_what_was_removed_and_what_stays(dibs, repo):
    dibs("init", "--agents", "claude")
    (repo / ".claude" / "notes.txt").write_text("mine")

    out = dibs("init", "--uninstall").out

    assert "  removed  .claude/settings.local.json\n" in out
    assert "  removed  git hooks\n" in out
    assert "  kept     .claude/   contains other files\n" in out
    assert "  kept     .git/dibs  claims, tasks, history\n" in out
    assert out.endswith("to delete the state too, run: `dibs init --uninstall --purge`\n")


def test_the_purge_that_uninstall_suggests_asks_for_confirmation_and_says_how_to_give_it(
    dibs, repo
):
    dibs("init", "--agents", "claude")
    command = dibs("init", "--uninstall").out.rpartition("run: `")[2].rstrip("`\n")

    refused = dibs(*shlex.split(command)[1:])
    assert refused.status == 64
    assert (repo / ".git" / "dibs").exists()
    hint = refused.err.rpartition("run: ")[2].rstrip(")\n")

    assert dibs(*shlex.split(hint)[1:]).status == 0
    assert not (repo / ".git" / "dibs").exists()


def git_directory(repo):
    return sorted(os.listdir(repo / ".git")), subprocess.check_output(["git", "for-each-ref"])


def test_purge_leaves_the_repository_as_if_dibs_had_never_been_there(dibs, repo):
    subprocess.run(["git", "config", "user.email", "a@example.com"], check=True)
    subprocess.run(["git", "config", "user.name", "a"], check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    before = git_directory(repo)[0], tree(repo), tree(repo / ".git" / "hooks")
    dibs("init", "--agents", "claude,codex")
    dibs("claim", "a.txt", agent="alice")
    (repo / "a.txt").write_text("a\n")
    assert dibs("commit", "-m", "two", agent="alice").status == 0
    dibs("release", "--all", agent="alice")
    (repo / "a.txt").unlink()

    answer = dibs("init", "--uninstall", "--purge", "--yes")

    assert answer.status == 0
    assert "deleted  .git/dibs" in answer.out
    assert (git_directory(repo)[0], tree(repo), tree(repo / ".git" / "hooks")) == before
    assert b"refs/dibs" not in git_directory(repo)[1]


def test_purge_refuses_while_an_agent_holds_a_claim_and_the_hint_works(dibs, repo):
    dibs("init", "--agents", "claude")
    dibs("claim", "a.txt", agent="alice")
    before = tree(repo)

    refused = dibs("init", "--uninstall", "--purge", "--yes", "--json")

    assert refused.status == 77
    assert refused.json["error"]["code"] == "STORE_ACTIVE"
    assert "alice" in refused.json["error"]["message"]
    assert tree(repo) == before
    assert (repo / ".git" / "dibs").exists()
    hint = refused.json["error"]["hint"].rpartition("run: ")[2]
    assert dibs(*shlex.split(hint)[1:]).status == 0
    assert not (repo / ".git" / "dibs").exists()


@pytest.mark.parametrize("purge", [[], ["--purge", "--yes"]])
def test_the_task_files_stay_and_are_named(dibs, repo, purge):
    dibs("init", "--agents", "claude")
    dibs("task", "new", "one")

    assert "  kept     work/" in dibs("init", "--uninstall", *purge).out
    assert (repo / "work" / "inbox").is_dir()


def test_purge_never_deletes_saved_work_and_names_it(dibs, repo):
    git = ["git", "-c", "user.email=a@example.com", "-c", "user.name=a"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    ref = "refs/salvage/alice/20260102T030405Z"
    subprocess.run(["git", "update-ref", ref, "HEAD"], check=True)
    dibs("init", "--agents", "claude")

    answer = dibs("init", "--uninstall", "--purge", "--yes")

    assert f"kept     {ref}  saved work\n" in answer.out
    command = " ".join(answer.out.split()).rpartition("run: `")[2].rstrip("`")
    assert b"one" in subprocess.check_output(shlex.split(command))


def test_a_dry_run_of_a_purge_changes_nothing_and_json_lists_everything(dibs, repo):
    dibs("init", "--agents", "claude")
    before = tree(repo)

    answer = dibs("init", "--uninstall", "--purge", "--dry-run", "--json").json

    assert answer["purged"]["folders"] == [".git/dibs"]
    assert answer["purged"]["contents"]["claim"] == 0
    assert tree(repo) == before
    assert (repo / ".git" / "dibs" / "dibs.db").exists()


@pytest.mark.parametrize("words", [["--purge"], ["--uninstall", "--force"]])
def test_purge_and_force_need_the_option_they_extend(dibs, repo, words):
    assert dibs("init", *words).status == 64


def test_an_agent_cannot_purge(dibs, repo):
    dibs("init", "--agents", "claude")

    refused = dibs("init", "--uninstall", "--purge", "--yes", agent="bob")
    assert refused.status == 77
    assert "only a human may remove the guards; you are bob (see `dibs whoami -v`)" in refused.err
    assert (repo / ".git" / "dibs").exists()


def test_purge_stops_the_server_which_has_the_store_open(dibs, repo, monkeypatch):
    with tempfile.TemporaryDirectory() as runtime:  # socket paths must be short
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        dibs("init", "--agents", "claude")
        assert dibs("serve", "start", "--port", "0").status == 0

        dibs("init", "--uninstall", "--purge", "--yes")

        until = time.monotonic() + 20
        while dibs("serve", "status").status == 0:
            assert time.monotonic() < until
            time.sleep(0.05)
