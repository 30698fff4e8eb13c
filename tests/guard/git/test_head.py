"""HEAD in a shared working tree: who may move it, who gets a message, and where commits go."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from tests.guard.conftest import Clone

from dibs.local.noted_agents import note
from dibs.local.processes import running

DETACHES = {
    "detach": "git checkout -q --detach",
    "rebase": "git rebase -qf other",
    "in a shell": "sh -c 'git checkout -q HEAD~0'",
    "in python": f"{sys.executable} -c \"import subprocess as s; s.run(['git', 'rebase', '-f', 'other'])\"",
}


@pytest.fixture
def shared(repo):
    """The repository in which alice holds ``a.txt``, with another branch."""
    repo.git("branch", "other")
    repo.commit("b.txt")
    return repo


def below_agent(repo, command, agent="bob"):
    """Run a shell command below a process that Dibs knows as an agent."""
    here = running(os.getpid())
    note(str(repo.root / ".git/dibs"), here.pid, here.born, agent)
    return subprocess.run(
        ["sh", "-c", command], cwd=repo.root, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", DETACHES.values(), ids=DETACHES)
def test_a_hidden_command_cannot_take_head_off_its_branch(shared, command):
    tip = shared.git("rev-parse", "HEAD")

    done = below_agent(shared, command)

    assert "alice holds a.txt" in done.stderr
    assert "dibs worktree new" in done.stderr
    assert shared.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert shared.git("rev-parse", "HEAD") == tip
    assert not (shared.root / ".git/rebase-merge").exists()


def test_without_agents_the_hook_starts_no_interpreter_for_head(shared):
    hook = shared.root / ".git/hooks/reference-transaction"
    hook.write_text(re.sub("(?m)^python=.*", "python=/none", hook.read_text()))

    shared.git("checkout", "-q", "--detach")
    shared.git("switch", "-q", "main")

    assert shared.run("checkout", "--detach", agent="bob").returncode != 0


def test_a_newer_git_reports_that_head_follows_another_branch(shared):
    """From 2.46 on, git passes such an update to the hook."""
    for lines in (
        "ref:refs/heads/main ref:refs/heads/other HEAD\n",
        f"{'0' * 40} ref:refs/heads/other HEAD\n",
    ):
        done = subprocess.run(
            [str(shared.root / ".git/hooks/reference-transaction"), "prepared"],
            cwd=shared.root, input=lines, env={**os.environ, "DIBS_AGENT": "bob"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert "alice holds a.txt" in done.stderr


@pytest.mark.parametrize("command", ["checkout -q --detach", "rebase -q other", "switch -q other"])
def test_head_is_free_for_humans_owners_and_in_other_worktrees(shared, tmp_path, command):
    shared.git("worktree", "add", "-q", "-b", "third", str(tmp_path / "third"))
    apart = Clone(tmp_path / "third")
    apart.git("branch", "-q", "more", "main~1")

    apart.git(*command.replace("switch -q other", "switch -q more").split(), agent="bob")
    shared.git(*command.split(), agent="alice")
    shared.git("checkout", "-q", "main")
    shared.git(*command.split())


def test_a_claim_on_head_keeps_it(repo, dibs):
    dibs("release", "--all", agent="alice")
    dibs("claim", "@git/HEAD", agent="alice")

    assert "alice holds @git/HEAD" in repo.refused("checkout", "--detach", agent="bob")


def test_agents_get_a_message_when_someone_else_checks_out_another_branch(shared, dibs):
    shared.git("switch", "-q", "other")

    assert "dibs commit refuses until it is your branch again" in dibs("inbox", agent="alice")

    shared.git("switch", "-q", "main")

    assert "again, where you claimed files on it" in dibs("inbox", agent="alice")


def test_a_person_whom_only_a_git_hook_has_seen_is_a_human_in_messages_and_lists(shared, dibs):
    shared.git("switch", "-q", "other")

    assert re.search(r"(?m)^m\d+ \S+ HUMAN ", dibs("inbox", agent="alice"))
    assert " human " in dibs("agent", "ls", agent="alice")


# -- commits


def changed(repo):
    repo.write("a.txt", "work of alice\n")


def commit(dibs, *words, status=0):
    return dibs("commit", "-m", "work", *words, agent="alice", status=status)


def test_a_commit_goes_to_the_branch_on_which_its_files_were_claimed(shared, dibs, capsys):
    changed(shared)
    shared.git("switch", "-q", "other", agent="mallory")

    with pytest.raises(AssertionError) as failed:
        commit(dibs)

    said = str(failed.value)
    assert "you claimed a.txt on main, and mallory checked out other since" in said
    assert "git switch main" in said
    assert "--anyway" in said
    assert shared.git("log", "-1", "--format=%an %s", "other").endswith("work")
    shared.git("switch", "-q", "main")
    commit(dibs)


def test_anyway_commits_to_the_branch_that_is_checked_out_now(shared, dibs):
    changed(shared)
    shared.git("switch", "-q", "other")

    commit(dibs, "--anyway")

    assert shared.git("show", "other:a.txt") == "work of alice"


def test_an_agent_that_switches_itself_commits_to_its_new_branch(shared, dibs):
    changed(shared)
    shared.git("switch", "-q", "-c", "topic", agent="alice")

    commit(dibs)

    assert shared.git("show", "topic:a.txt") == "work of alice"


def test_a_renamed_branch_is_the_same_branch(shared, dibs):
    changed(shared)
    shared.git("branch", "-m", "main", "trunk")
    shared.git("branch", "-m", "trunk", "stem")

    commit(dibs)

    assert shared.git("show", "stem:a.txt") == "work of alice"


def test_a_detached_head_is_the_same_while_its_history_continues(shared, dibs):
    dibs("release", "--all", agent="alice")
    shared.git("checkout", "-q", "--detach")
    dibs("claim", "a.txt", agent="alice")
    changed(shared)
    shared.git("commit", "-q", "--allow-empty", "-m", "more")
    commit(dibs)

    dibs("claim", "a.txt", agent="alice")
    shared.git("checkout", "-q", "--detach", "other")
    shared.write("a.txt", "more\n")
    commit(dibs, status=69)


def test_a_claim_from_another_worktree_does_not_matter(shared, dibs, tmp_path, monkeypatch):
    shared.git("worktree", "add", "-q", "-b", "third", str(tmp_path / "third"))
    monkeypatch.chdir(tmp_path / "third")
    Clone(tmp_path / "third").write("a.txt", "there\n")

    commit(dibs)

    assert shared.git("show", "third:a.txt") == "there"


def test_files_claimed_after_the_switch_are_committed(shared, dibs):
    shared.git("switch", "-q", "other")
    dibs("claim", "b.txt", agent="alice")
    shared.write("b.txt", "b\n")

    commit(dibs, "b.txt")
