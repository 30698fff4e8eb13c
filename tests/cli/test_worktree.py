"""``dibs worktree``: concurrent commands, kills at any step, and output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from tests.cli.conftest import git

#: A program that dies as if killed when it reaches a step.
DYING = """
import os, signal, sys
from dibs.services.worktrees import locks as worktree_steps
step = sys.argv.pop(1)
def reach(reached):
    if reached == step:
        os.kill(os.getpid(), signal.SIGKILL)
worktree_steps.reach = reach
from dibs.cli import program
program()
"""
MAKING = ("row", "files")
REMOVING = ("removing", "salvaged", "erased", "branch")


@pytest.fixture
def alice(tree):
    return tree.parent / "repo.worktrees/alice"


def die_at(start, step, *words):
    process = start(step, *words, program=(sys.executable, "-c", DYING))
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def branches():
    return git("branch", "--format=%(refname:short)").split()


def known():
    return git("worktree", "list").splitlines()


def test_twelve_concurrent_creations_all_succeed(tree, start, dibs):
    running = [start("worktree", "new", f"w{number}") for number in range(12)]

    ended = [(process.communicate(), process.returncode) for process in running]

    assert [said for said in ended if said[1]] == []
    listed = dibs("worktree", "ls", "--json").json["worktrees"]
    assert sorted(item["agent"] for item in listed) == sorted(f"w{n}" for n in range(12))
    assert [item["held"] for item in listed] == [[]] * 12
    ports = [dibs("worktree", "env", f"w{n}", "--json").json["DIBS_PORT"] for n in range(12)]
    assert len(set(ports)) == 12
    assert len(branches()) == 13


def test_two_concurrent_creations_for_one_agent_create_one(tree, start):
    running = [start("worktree", "new", "alice", "--json") for _ in range(4)]

    said = [process.communicate()[0] for process in running]

    assert sum('"new": true' in text for text in said) == 1
    assert len(known()) == 2


@pytest.mark.parametrize("step", MAKING)
def test_after_a_killed_creation_the_next_call_creates_it(tree, alice, start, dibs, step):
    die_at(start, step, "worktree", "new", "alice")

    answer = dibs("worktree", "new", "alice")

    assert answer.status == 0
    assert (alice / "a").read_text() == "a\n"
    assert git("status", "--short", "--branch", cwd=alice) == "## agent/alice"
    assert (len(known()), branches()) == (2, ["agent/alice", "main"])


@pytest.mark.parametrize("step", MAKING)
def test_after_a_killed_creation_gc_leaves_nothing(tree, alice, start, dibs, step):
    die_at(start, step, "worktree", "new", "alice")

    assert dibs("worktree", "gc").status == 0

    assert (len(known()), branches(), alice.exists()) == (1, ["main"], False)
    assert dibs("worktree", "ls", "--json").json == {"worktrees": []}


def test_a_file_changed_in_an_incomplete_worktree_is_salvaged_and_a_cut_off_one_is_not(
    tree, alice, start, dibs
):
    (tree / "b").write_text("first\nsecond\n")
    (tree / "link").symlink_to("a")
    git("add", "-A")
    git("commit", "-qm", "more")
    die_at(start, "files", "worktree", "new", "alice")
    (alice / "b").write_text("first\nsec")
    assert dibs("worktree", "new", "alice").status == 0
    assert dibs("salvage", "ls", "--json").json["salvaged"] == []
    assert dibs("worktree", "rm", "alice").status == 0
    die_at(start, "files", "worktree", "new", "alice")
    (alice / "b").write_text("first\nmine\n")

    assert dibs("worktree", "new", "alice").status == 0

    (saved,) = dibs("salvage", "ls", "--json").json["salvaged"]
    assert git("show", f"{saved['ref']}:b") == "first\nmine"


@pytest.mark.parametrize("step", REMOVING)
def test_a_killed_removal_loses_nothing(tree, alice, start, dibs, step):
    assert dibs("worktree", "new", "alice").status == 0
    (alice / "a").write_text("work\n")
    (alice / "new").write_text("new\n")
    words = ("worktree", "rm", "alice", "--force", "--reason", "test")
    die_at(start, step, *words)

    answer = dibs("worktree", "rm", "alice", "--force", "--reason", "test", "--json")

    assert answer.status == 0
    saved = dibs("salvage", "ls", "--json").json["salvaged"]
    assert [git("show", f"{item['ref']}:new") for item in saved] == ["new"] * len(saved)
    assert len(saved) == (2 if step == "salvaged" else 1)
    assert (len(known()), branches()) == (1, ["main"])
    assert os.listdir(alice.parent) == []
    assert dibs("worktree", "new", "alice").status == 0


@pytest.mark.parametrize("step", ["aside", "salvaged"])
def test_an_interrupted_removal_is_undone_by_the_next_command(tree, alice, start, dibs, step):
    assert dibs("worktree", "new", "alice").status == 0
    (alice / "new").write_text("new\n")
    die_at(start, step, "worktree", "rm", "alice", "--force", "--reason", "test")

    assert dibs("worktree", "gc").status == 0

    assert (alice / "new").read_text() == "new\n"
    assert git("status", "--short", cwd=alice) == "?? new"
    kept = dibs("worktree", "rm", "alice", "--json").json
    assert [holding["kind"] for holding in kept["held"]] == ["untracked"]


def test_a_kill_inside_git_leaves_nothing_permanent(tree, alice, start, dibs):
    """Git locks a worktree while it creates it; a kill leaves it locked."""
    die_at(start, "added", "worktree", "new", "alice")
    (tree / ".git/worktrees/alice/locked").write_text("initializing\n")
    (tree / ".git/worktrees/alice/HEAD").unlink()

    assert dibs("worktree", "new", "alice").status == 0

    assert git("status", "--short", "--branch", cwd=alice) == "## agent/alice"


def test_the_text_for_people(tree, alice, dibs):
    made = dibs("worktree", "new", "alice")
    again = dibs("worktree", "new", "alice")
    (alice / "new\x1b[31m").write_text("new\n")
    listed = dibs("worktree", "ls")
    kept = dibs("worktree", "rm", "alice")

    assert made.out == f"created {alice} on agent/alice\n"
    assert again.out == f"already exists: {alice} on agent/alice\n"
    assert "1 untracked" in listed.out
    assert kept.status == 3
    assert kept.out.splitlines()[:2] == [
        f"kept alice {alice}",
        "  1 untracked file: new\\x1b[31m",
    ]
    gone = dibs("worktree", "rm", str(alice), "--force", "--reason", "done")
    assert gone.status == 0
    assert "dibs salvage show alice/" in gone.out
    name = gone.out.split("dibs salvage show ")[1].split()[0]
    assert "new" in dibs("salvage", "show", name).out
    assert dibs("salvage", "restore", name, "--branch", "back").status == 0
    assert git("log", "-1", "--format=%s", "back") == "salvage: alice on agent/alice: done"


def test_refusals_have_codes_and_exit_status(tree, alice, dibs):
    dibs("worktree", "new", "alice")
    (alice / "new").write_text("new\n")

    kept = dibs("worktree", "rm", "alice", "--json")
    assert (kept.status, kept.json["code"]) == (3, "WORK_INSIDE")
    for words, status, code in (
        (("rm", "nobody"), 6, "NO_WORKTREE"),
        (("env", "nobody"), 6, "NO_WORKTREE"),
        (("new", "alice", "--branch", "x"), 65, "WORKTREE_EXISTS"),
        (("new", "bob", "--base", "no"), 6, "NO_BRANCH"),
        (("new", "bob", "--setup", "false"), 69, "SETUP_FAILED"),
        (("new", "carol", "--path", "."), 65, "WORKTREE_FOLDER"),
    ):
        answer = dibs("worktree", *words, "--json")
        assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert dibs("salvage", "show", "nobody", "--json").status == 6


def test_a_shell_can_evaluate_the_environment(tree, dibs, tmp_path):
    odd = tmp_path / "it's $(odd)"
    dibs("worktree", "new", "alice", "--path", str(odd))

    out = dibs("worktree", "env", "alice").out

    shell = f'PORT=1\n{out}\nprintf "%s|%s|%s" "$DIBS_WORKTREE" "$DIBS_PORT" "$PORT"'
    said = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    assert said.stdout == f"{odd}|4100|"


def test_an_agent_can_create_its_own_worktree(tree, dibs):
    assert dibs("worktree", "new", agent="bob").status == 0
    assert dibs("worktree", "env", "--json", agent="bob").json["DIBS_AGENT"] == "bob"
