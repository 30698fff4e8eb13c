"""Which changes to history the git hooks refuse, with real git in real repositories."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.guard.conftest import Clone

from dibs.local.noted_agents import note
from dibs.local.processes import running

MOVES_BACK = {
    "reset --soft": "git reset --soft HEAD~1",
    "amend": "git commit --amend -m other",
    "amend --no-verify": "git commit --amend --no-verify -m other",
    "update-ref": "git update-ref refs/heads/main HEAD~1",
    "update-ref -d": "git update-ref -d refs/heads/main",
    "checkout -B": "git checkout -B main HEAD~1",
    "symbolic-ref": "git checkout --detach && git branch -f main HEAD~1",
    "fetch": "git branch side HEAD~1 && git fetch -uf . side:main",
}


@pytest.fixture
def crew(repo, dibs):
    """The repository after alice landed a commit with the gate; no one holds anything."""
    dibs("release", "--all", agent="alice")
    repo.land = lambda agent, *paths: land(repo, dibs, agent, *paths)
    repo.dibs = dibs
    repo.land("alice", "a.txt")
    return repo


def land(repo, dibs, agent, *paths):
    """Commit changes with ``dibs commit`` as an agent; return the commit."""
    dibs("claim", "--new", *paths, agent=agent)
    for path in paths:
        repo.write(path)
    dibs("commit", "-m", f"work of {agent}", "--release", agent=agent)
    return repo.git("rev-parse", "HEAD")


def shell(repo, command, agent="bob"):
    """Run a shell command as an agent, or with an empty name as a human."""
    environ = {**os.environ, **({"DIBS_AGENT": agent} if agent else {})}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=repo.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def assert_kept(repo, done, commit, agent="alice"):
    """Check that a command was refused, and that the commit is still on main."""
    assert done.returncode != 0, done.stdout + done.stderr
    assert f"{commit[:10]} by {agent}" in done.stderr
    assert repo.git("rev-parse", "main") == commit


@pytest.mark.parametrize("command", MOVES_BACK.values(), ids=MOVES_BACK)
def test_an_agent_cannot_remove_another_agents_landed_commit(crew, command):
    commit = crew.git("rev-parse", "HEAD")

    assert_kept(crew, shell(crew, command), commit)


@pytest.mark.parametrize("command", ["git reset -q --soft HEAD~1", "git commit --amend -qm other"])
def test_a_human_can_and_the_agent_gets_a_message(crew, command):
    commit = crew.git("rev-parse", "HEAD")

    done = shell(crew, command, agent="")

    assert done.returncode == 0, done.stderr
    said = crew.dibs("inbox", agent="alice")
    assert commit[:10] in said
    assert "main" in said


def test_commands_hidden_in_programs_of_an_agents_process_are_refused(crew, tmp_path):
    commit = crew.git("rev-parse", "HEAD")
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess\nsubprocess.run(['sh', '-c', 'git reset -q --hard HEAD~1'], check=True)\n"
    )
    here = running(os.getpid())
    note(str(crew.root / ".git/dibs"), here.pid, here.born, "bob")

    done = subprocess.run(
        [sys.executable, str(script)], cwd=crew.root, capture_output=True, text=True, check=False
    )

    assert_kept(crew, done, commit)


def test_an_amended_file_is_refused_although_pre_commit_checked_it(crew):
    """The note that pre-commit leaves for the branch update is not enough."""
    commit = crew.git("rev-parse", "HEAD")

    done = shell(crew, "echo more >> a.txt && git commit -q --amend -am more")

    assert_kept(crew, done, commit)


def test_an_agent_cannot_amend_its_own_landed_commit_in_the_main_working_tree(crew):
    commit = crew.git("rev-parse", "HEAD")

    done = shell(crew, "git commit --amend -m other", agent="alice")

    assert_kept(crew, done, commit)
    assert "dibs commit" in done.stderr


def test_an_agent_can_rewrite_its_own_commits_in_its_own_worktree(crew, tmp_path, monkeypatch):
    crew.git("worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "bob"))
    own = Clone(tmp_path / "bob")
    monkeypatch.chdir(own.root)
    land(own, crew.dibs, "bob", "b.txt")
    monkeypatch.chdir(crew.root)
    crew.land("alice", "c.txt")

    for command in ("commit --amend -m other", "rebase main", "reset --hard HEAD~1"):
        own.git(*command.split(), agent="bob")


def test_a_rebased_or_amended_commit_stays_a_landed_commit(crew, tmp_path, monkeypatch):
    crew.git("worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "bob"))
    own = Clone(tmp_path / "bob")
    monkeypatch.chdir(own.root)
    land(own, crew.dibs, "bob", "b.txt")
    monkeypatch.chdir(crew.root)
    crew.land("alice", "c.txt")

    own.git("commit", "-q", "--amend", "-m", "other", agent="bob")
    own.git("rebase", "-q", "main", agent="bob")

    tip = own.git("rev-parse", "HEAD")
    assert f"{tip[:10]} by bob" in own.refused("reset", "--hard", "main", agent="carol")


def test_an_agent_cannot_remove_anothers_commit_from_its_own_worktree(crew, tmp_path, monkeypatch):
    crew.git("worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "bob"))
    own = Clone(tmp_path / "bob")
    monkeypatch.chdir(own.root)
    commit = land(own, crew.dibs, "carol", "b.txt")
    land(own, crew.dibs, "bob", "c.txt")

    said = own.refused("reset", "--hard", "HEAD~2", agent="bob")

    assert f"{commit[:10]} by carol" in said


def test_a_rebase_that_drops_anothers_commit_is_refused_before_it_begins(crew):
    commit = crew.git("rev-parse", "HEAD")
    tip = crew.land("bob", "b.txt")

    done = shell(crew, "git rebase --onto HEAD~2 HEAD~1")

    assert f"{commit[:10]} by alice" in done.stderr
    assert crew.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert crew.git("rev-parse", "HEAD") == tip
    assert not (crew.root / ".git/rebase-merge").exists()


def test_a_refused_rebase_that_set_changes_aside_can_be_aborted(crew):
    crew.land("bob", "b.txt")
    crew.write("a.txt", "uncommitted")

    done = shell(crew, "git rebase --autostash --onto HEAD~2 HEAD~1")
    crew.git("rebase", "--abort")

    assert "git rebase --abort" in done.stderr
    assert (crew.root / "a.txt").read_text() == "uncommitted"
    assert crew.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_an_agent_can_rebase_its_own_commits_on_what_was_fetched(crew, tmp_path):
    crew.git("clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    crew.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    crew.git("clone", "-q", str(tmp_path / "hub.git"), str(tmp_path / "other"))
    other = Clone(tmp_path / "other")
    other.commit("c.txt")
    other.git("push", "-q")
    crew.land("bob", "b.txt")

    crew.git("pull", "-q", "--rebase", "origin", "main", agent="bob")

    assert crew.git("rev-list", "--count", "HEAD") == "4"


def test_what_loses_no_commit_is_allowed(crew):
    crew.git("branch", "side")
    crew.commit("b.txt", agent="bob")
    for command in (
        "commit --allow-empty -m more", "commit --amend --allow-empty -m better", "reset --hard HEAD~1",
        "merge side", "branch -d side", "branch topic", "branch -m topic other", "branch -D other",
        "branch -m main trunk", "branch -m trunk main", "pack-refs --all --prune", "gc -q --prune=now",
        "tag v1", "fetch . main:copy", "branch -f copy HEAD", "stash list", "switch -c new",
    ):  # fmt: skip
        crew.git(*command.split(), agent="bob")


def test_an_agent_cannot_delete_a_branch_with_anothers_unmerged_commit(crew):
    crew.git("switch", "-q", "-c", "side")
    commit = crew.land("alice", "b.txt")
    crew.git("switch", "-q", "main")

    said = crew.refused("branch", "-D", "side", agent="bob")

    assert f"{commit[:10]} by alice" in said
    crew.git("merge", "-q", "side", agent="bob")
    crew.git("branch", "-d", "side", agent="bob")


# -- pushes


@pytest.fixture
def hub(crew, tmp_path):
    """A bare repository with the same commits, to which the clone pushes."""
    crew.git("clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    crew.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    crew.git("fetch", "-q", "origin")
    return Clone(tmp_path / "hub.git")


@pytest.mark.parametrize(
    "push", ["-f origin HEAD~1:main", "origin +HEAD~1:main", "origin --delete main", "origin :main"]
)
def test_an_agent_cannot_push_away_another_agents_landed_commit(crew, hub, push):
    hub.git("symbolic-ref", "HEAD", "refs/heads/none")
    commit = crew.git("rev-parse", "HEAD")

    done = crew.run("push", *push.split(), agent="bob")

    assert done.returncode != 0
    assert "dibs: push refused" in done.stderr
    assert f"{commit[:10]} by alice" in done.stderr
    assert hub.git("rev-parse", "main") == commit


def test_an_agent_cannot_force_a_push_over_commits_that_it_has_not_fetched(crew, hub, tmp_path):
    crew.git("clone", "-q", str(hub.root), str(tmp_path / "other"))
    other = Clone(tmp_path / "other")
    commit = other.commit("c.txt")
    other.git("push", "-q", "origin", "main")

    done = crew.run("push", "-f", "origin", "main", agent="bob")

    assert "git fetch" in done.stderr
    assert hub.git("rev-parse", "main") == commit


def test_an_agent_can_push_delete_and_overwrite_its_own_branch(crew, hub, tmp_path, monkeypatch):
    crew.git("worktree", "add", "-q", "-b", "agent/bob", str(tmp_path / "bob"))
    own = Clone(tmp_path / "bob")
    monkeypatch.chdir(own.root)
    land(own, crew.dibs, "bob", "b.txt")

    own.git("push", "-q", "origin", "agent/bob", agent="bob")
    own.git("commit", "-q", "--amend", "-m", "other", agent="bob")
    own.git("push", "-q", "-f", "origin", "agent/bob", agent="bob")
    own.git("push", "-q", "origin", "--delete", "agent/bob", agent="bob")


def test_an_agent_can_delete_a_merged_branch_of_another_agent_on_the_remote(crew, hub):
    crew.git("switch", "-q", "-c", "side")
    crew.land("alice", "b.txt")
    crew.git("push", "-q", "origin", "side")
    crew.git("switch", "-q", "main")
    crew.git("merge", "-q", "side")

    assert "by alice" in crew.run("push", "origin", ":side", agent="bob").stderr
    crew.git("push", "-q", "origin", "main")
    crew.git("push", "-q", "origin", ":side", agent="bob")


def test_a_human_can_force_a_push(crew, hub):
    crew.git("push", "-q", "-f", "origin", "HEAD~1:main")
