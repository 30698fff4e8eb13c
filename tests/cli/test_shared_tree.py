"""``dibs worktree new --or-shared``: an agent that cannot have a worktree uses the shared tree."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from tests.cli.conftest import git
from tests.cli.test_worktree import known

from dibs.services.worktrees import locks


def no_commits(repo):
    git("checkout", "-q", "--orphan", "empty")
    git("branch", "-q", "-D", "main")


def branch_in_use(repo):
    git("worktree", "add", "-q", "-b", "agent/alice", str(repo.parent / "elsewhere"))


def no_folder(repo):
    (repo.parent / "repo.worktrees").write_text("a file\n")


def used_folder(repo):
    (repo.parent / "repo.worktrees/alice").mkdir(parents=True)
    (repo.parent / "repo.worktrees/alice/notes").write_text("mine\n")


def locked_branch(repo):
    folder = repo / ".git/refs/heads/agent"
    folder.mkdir()
    (folder / "alice.lock").touch()


def branch_name_taken(repo):
    git("branch", "agent")


def filter_of_the_repository(repo):
    (repo / ".gitattributes").write_text("* filter=evil\n")
    git("add", ".gitattributes")
    git("commit", "-qm", "attributes")
    git("config", "filter.evil.smudge", "touch /tmp/evil")


def failing_setup(repo):
    (repo / "dibs.toml").write_text('[worktree]\nsetup = "false"\n')


CAUSES = (
    no_commits, branch_in_use, no_folder, used_folder, locked_branch, branch_name_taken,
    filter_of_the_repository, failing_setup,
)  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_whatever_prevents_a_worktree_the_agent_gets_the_shared_tree_and_the_reason(
    tree, dibs, cause
):
    cause(tree)
    before = known()

    refused = dibs("worktree", "new", "alice", "--json")
    told = dibs("worktree", "new", "alice", "--or-shared")
    answer = dibs("worktree", "new", "alice", "--or-shared", "--json").json

    assert refused.status != 0
    error = refused.json["error"]
    assert error["hint"].endswith("dibs worktree new alice --or-shared")
    assert told.status == 0
    assert told.out.startswith(f"shared {tree}: cannot use a worktree (")
    assert told.out.count("\n") == 1
    assert (answer["shared"], answer["path"], answer["worktree"]) == (True, str(tree), None)
    assert answer["reason"]
    assert answer["code"] == error["code"]
    entry = dibs("log", "--kind", "error", "-n", "1", "--json").json[-1]
    assert entry["details"]["toAgentId"] == "alice"
    assert cause is failing_setup or known() == before


def test_a_full_disk_leads_to_the_shared_tree(tree, start, dibs):
    (tree / "big").write_bytes(b"0123456789abcdef" * 500_000)
    git("add", "big")
    git("commit", "-qm", "big")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({4 << 20}, {4 << 20}));"
    program = (sys.executable, "-c", limit + "from dibs.cli import program; program()")

    process = start("worktree", "new", "alice", "--or-shared", program=program)
    out, err = process.communicate()

    assert (process.returncode, err) == (0, "")
    assert out.startswith(f"shared {tree}: cannot use a worktree (")
    assert len(known()) == 1
    assert dibs("salvage", "ls", "--json").json["salvaged"] == []  # no one's work, and no room
    assert not (tree.parent / "repo.worktrees/alice").exists()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert "created" in dibs("worktree", "new", "alice", "--or-shared").out


@pytest.mark.parametrize(
    "words", [("bad name",), ("alice", "--base", "nothing"), ("alice", "--setup", "'open")]
)
def test_an_invalid_request_is_refused_with_and_without_the_option(tree, dibs, words):
    plain = dibs("worktree", "new", *words)
    shared = dibs("worktree", "new", *words, "--or-shared")

    assert (shared.status, shared.err) == (plain.status, plain.err)
    assert shared.status != 0
    assert "--or-shared" not in plain.err


def test_a_setup_that_failed_runs_again_and_then_the_worktree_is_used(tree, dibs):
    words = ("worktree", "new", "alice", "--or-shared", "--setup", "test -e ready", "--json")
    assert dibs(*words).json["shared"]
    (tree.parent / "repo.worktrees/alice/ready").touch()

    answer = dibs(*words).json

    assert (answer["shared"], answer["worktree"]["ready"]) == (False, True)


def test_an_error_inside_dibs_is_not_hidden_by_the_option(tree, dibs, monkeypatch):
    def fail(step):
        raise ZeroDivisionError(step)

    monkeypatch.setattr(locks, "reach", fail)

    assert dibs("worktree", "new", "alice", "--or-shared").status == 70


def test_an_agent_in_a_linked_worktree_gets_the_main_tree(tree, dibs, monkeypatch):
    assert dibs("worktree", "new", "bob").status == 0
    monkeypatch.chdir(tree.parent / "repo.worktrees/bob")
    branch_name = ("git", "worktree", "add", "-q", "-b", "agent/alice", str(tree.parent / "x"))
    subprocess.run(branch_name, check=True)

    answer = dibs("worktree", "new", "alice", "--or-shared", "--json").json

    assert (answer["shared"], answer["path"]) == (True, str(tree))
