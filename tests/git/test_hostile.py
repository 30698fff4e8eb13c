"""Only ``dibs commit`` runs programs that a repository's own configuration names, as ``git commit`` does."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

import pytest
from tests.git.hostile import OWN_HOOKS, VECTORS

from dibs.cli import main
from dibs.core.claims.agents import Caller
from dibs.errors import NotAllowed
from dibs.project.project import open_project
from dibs.services.commits.values import CommitRequest

SILENT = [vector for vector in VECTORS if vector.kind == "silent"]
REFUSED = [vector for vector in VECTORS if vector.kind == "refused"]
BROKEN = [vector for vector in VECTORS if vector.kind == "broken"]
#: These do not run under plain git here: they need a terminal, a newer git, or a network.
DUMB = {
    "tools",
    "pagers",
    "aliases",
    "template",
    "hook-settings",
    "credentials",
    "far-vcs",
    "elsewhere",
}

#: What a plain git user would do.
BATTERY = (
    ("status",),
    ("diff", "HEAD"),
    ("log", "-p", "-1"),
    ("add", "-A"),
    ("commit", "-m", "plain"),
    ("commit", "--allow-empty", "--no-edit", "--trailer", "Dibs-Agent: x"),
    ("checkout", "other"),
    ("merge", "--no-edit", "main"),
    ("cat-file", "-p", "main:lost.txt"),
)


class Case(NamedTuple):
    """A command, the commands before it, and the caller."""

    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    agent: str = "ann"
    #: Kinds of hook that the command runs, as the git command of that name does.
    hooks: bool = False
    #: Vectors whose program would be part of the result, so that the command must refuse.
    refused: frozenset[str] = frozenset()
    #: Whether files are changed before; a merge needs a clean tree.
    edits: bool = True


CLAIM = ("claim", "b.dat", "a.txt", "src/x.py")
TASK = ("task", "new", "Look around", "--for", "ann")

INSTALL = ("git", "install")
WORKTREE = ("worktree", "new", "ann")
FILTERS = frozenset({"clean", "smudge", "process"})

CASES = {
    "init": Case(("init",)),
    "claim": Case(CLAIM),
    "claim-glob": Case(("claim", "**/*.dat")),
    "check": Case(("check", "b.dat")),
    "who": Case(("who", "b.dat")),
    "status": Case(("status",), (CLAIM,)),
    "log": Case(("log",), (CLAIM,)),
    "release": Case(("release", "b.dat"), (CLAIM,)),
    "run": Case(("run", "--claim", "b.dat", "--", "true")),
    "config": Case(("config",)),
    "engine": Case(("engine", "check")),
    "doctor": Case(("doctor",), (TASK,)),
    "doctor-fix": Case(("doctor", "--fix"), (TASK,)),
    "doctor-prove": Case(("doctor", "--prove"), (INSTALL,)),
    "task": Case(("task", "take", "--role", "ann"), (TASK,)),
    "orchestrate": Case(("orchestrate", "--once"), (TASK,), agent=""),
    "changes": Case(("changes",), (CLAIM,)),
    "changes-everywhere": Case(("changes", "--all-trees"), (CLAIM, WORKTREE)),
    "diff": Case(("diff",), (CLAIM,)),
    "diff-stat": Case(("diff", "--stat"), (CLAIM,)),
    "commit": Case(("commit", "-m", "mine"), (CLAIM,), hooks=True),
    "commit-no-verify": Case(("commit", "--no-verify", "-m", "mine"), (CLAIM,), hooks=True),
    "commit-dry-run": Case(("commit", "--dry-run", "-m", "mine"), (CLAIM,)),
    "worktree-new": Case(WORKTREE, refused=FILTERS),
    "worktree-ls": Case(("worktree", "ls"), (WORKTREE,)),
    "worktree-rm": Case(("worktree", "rm", "ann"), (WORKTREE,)),
    "worktree-rm-force": Case(
        ("worktree", "rm", "ann", "--force", "--reason", "test"), (WORKTREE,), agent=""
    ),
    "worktree-gc": Case(("worktree", "gc"), (WORKTREE,)),
    "salvage": Case(("salvage", "ls"), (WORKTREE,)),
    "merge": Case(
        ("merge", "other", "--allow-unclaimed"),
        agent="",
        edits=False,
        refused=FILTERS | {"driver", "default-driver"},
    ),
    "merge-tested": Case(
        ("merge", "apart", "--allow-unclaimed", "--test", "true"),
        agent="",
        edits=False,
        refused=FILTERS,
    ),
    "merge-dry": Case(
        ("merge", "other", "--allow-unclaimed", "-n"),
        agent="",
        edits=False,
        refused=frozenset({"driver", "default-driver"}),
    ),
    "forecast": Case(("forecast",), (WORKTREE,), agent=""),
    "install": Case(INSTALL, agent=""),
    "git-status": Case(("git", "status"), (INSTALL,), agent=""),
    "uninstall": Case(("git", "uninstall"), (INSTALL,), agent=""),
    "git-check": Case(("git", "check"), (CLAIM,)),
}


#: The commands that look at objects and files.
TOUCHING = ("changes", "diff", "commit-dry-run", "worktree-rm", "merge", "orchestrate")


@pytest.fixture
def dibs(monkeypatch, capsys):
    def call(*words, agent="ann"):
        capsys.readouterr()
        monkeypatch.setenv("DIBS_AGENT", agent)
        monkeypatch.setenv("DIBS_BOARD_COMMIT", "true")
        mark = words.index("--") if "--" in words else len(words)
        status = main([*words[:mark], "--json", *words[mark:]])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def edit(repo):
    """Make changes of every kind, so that every command has something to read."""
    for name in ("b.dat", "a.txt", "src/x.py"):
        repo.write(name, f"changed {name}\n")
    repo.write("new.txt", "new\n")


def perform(dibs, case):
    for words in case.before:
        dibs(*words, agent=case.agent or "ann")
    return dibs(*case.words, agent=case.agent)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_each_vector_runs_code_under_plain_git(hostile, vector):
    hostile.plant(vector)
    edit(hostile)

    for (
        words
    ) in BATTERY:  # as at a terminal; only an editor that nobody planted must not wait for someone
        hostile.git("-c", "core.editor=true", *words, check=False)

    assert hostile.sung() == (set() if vector.name in DUMB else {vector.name})


@pytest.mark.parametrize("name", CASES)
def test_a_command_works_and_runs_nothing_planted(hostile, dibs, name):
    case = CASES[name]
    for vector in SILENT if case.hooks else [*SILENT, OWN_HOOKS]:
        hostile.plant(vector)
    if case.edits:
        edit(hostile)
    hostile.silence()

    status, out, err = perform(dibs, case)

    assert status == 0, out + err
    assert hostile.sung() == set()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.hooks])
def test_a_program_that_would_affect_the_result_does_not_run(hostile, dibs, name):
    case = CASES[name]
    for vector in REFUSED:
        hostile.plant(vector)
    if case.edits:
        edit(hostile)
    hostile.silence()

    perform(dibs, case)

    assert hostile.sung() == set()


@pytest.mark.parametrize(
    ("name", "vector"),
    [(name, v) for name, case in CASES.items() for v in REFUSED if v.name in case.refused],
    ids=lambda part: getattr(part, "name", part),
)
def test_a_program_that_affects_the_result_is_refused_by_name(hostile, dibs, name, vector):
    case = CASES[name]
    hostile.plant(vector)
    if case.edits:
        edit(hostile)
    before = hostile.git("for-each-ref")
    hostile.silence()

    status, out, _ = perform(dibs, case)

    error = json.loads(out)["error"]
    assert (status, error["code"]) == (77, "REPO_EXECUTES_CODE")
    assert vector.key in error["message"]
    assert vector.key in error["hint"]
    assert hostile.git("for-each-ref") == before
    assert hostile.sung() == set()


@pytest.mark.parametrize("name", TOUCHING)
@pytest.mark.parametrize("vector", BROKEN, ids=lambda vector: vector.name)
def test_no_program_runs_to_fetch_missing_objects(hostile, dibs, vector, name):
    hostile.plant(vector)
    if CASES[name].edits:
        edit(hostile)
    hostile.silence()

    perform(dibs, CASES[name])

    assert hostile.sung() == set()


@pytest.mark.parametrize("name", TOUCHING)
def test_the_callers_environment_runs_no_programs(hostile, dibs, name, monkeypatch):
    edit(hostile)
    hostile.called("variables")
    for variable in (
        "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "PAGER", "EDITOR",
        "VISUAL", "SSH_ASKPASS", "GIT_ASKPASS",
    ):  # fmt: skip
        monkeypatch.setenv(variable, hostile.script())
    for variable in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP"):
        monkeypatch.setenv(variable, str(hostile.canaries / "trace"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", hostile.script())
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'diff.external={hostile.script()}'")

    perform(dibs, CASES[name])

    assert hostile.sung() == set()


def test_a_program_named_git_in_the_tree_is_not_used(hostile, dibs):
    hostile.called("git")
    os.symlink(hostile.script(), hostile.root / "git")
    edit(hostile)

    perform(dibs, CASES["orchestrate"])

    assert hostile.sung() == set()


def test_hooks_in_the_git_directory_run_in_a_commit_only(hostile, dibs):
    hostile.plant(OWN_HOOKS)
    edit(hostile)
    perform(dibs, CASES["worktree-new"])
    perform(dibs, CASES["diff"])
    assert hostile.sung() == set()

    status, out, err = perform(dibs, CASES["commit"])

    assert status == 0, out + err
    assert hostile.sung() == {OWN_HOOKS.name}


#: Programs that `git commit` runs; those from `hook.NAME.command` need a newer git.
COMMITTING = [v for v in REFUSED if v.name in {"clean", "process", "signing", "hooks-path"}]


@pytest.mark.parametrize("vector", COMMITTING, ids=lambda vector: vector.name)
def test_a_callers_commit_runs_what_git_commit_runs(hostile, dibs, vector):
    hostile.plant(vector)
    edit(hostile)
    hostile.silence()

    perform(dibs, CASES["commit"])

    assert hostile.sung() == {vector.name}


@pytest.mark.parametrize("vector", COMMITTING, ids=lambda vector: vector.name)
def test_a_commit_by_the_server_or_the_crew_is_refused_instead(hostile, dibs, vector):
    hostile.plant(vector)
    edit(hostile)
    dibs(*CLAIM)
    hostile.silence()

    with pytest.raises(NotAllowed) as caught:
        open_project("").commits.commit(Caller("ann"), CommitRequest("mine"))

    assert caught.value.code == "REPO_EXECUTES_CODE"
    assert vector.key in caught.value.message
    assert f"git config --global {vector.key}" in caught.value.hint
    assert hostile.sung() == set()


def test_a_setting_that_is_also_the_users_own_is_trusted(hostile, dibs):
    hostile.called("allowed")
    hostile.config("filter.x.clean", f"{hostile.touch()}; cat")
    hostile.git("config", "--global", "filter.x.clean", f"{hostile.touch()}; cat")
    hostile.attribute("*.dat filter=x")
    edit(hostile)
    dibs(*CLAIM)
    hostile.silence()

    open_project("").commits.commit(Caller("ann"), CommitRequest("mine"))

    assert hostile.sung() == {"allowed"}


@pytest.mark.parametrize(
    "words", [("git", "install"), ("init", "--agents", "claude", "--yes")], ids=" ".join
)
def test_a_commit_runs_the_hooks_in_front_of_which_ours_are(hostile, dibs, words):
    hostile.plant(next(vector for vector in VECTORS if vector.name == "hooks-path"))
    edit(hostile)
    assert dibs(*words, agent="")[0] == 0
    dibs(*CLAIM)
    hostile.silence()

    with pytest.raises(NotAllowed, match="'planted-hooks'"):
        open_project("").commits.commit(Caller("ann"), CommitRequest("mine"))
    assert hostile.sung() == set()
    assert dibs("commit", "-m", "mine")[0] == 0

    assert hostile.sung() == {"hooks-path"}


def test_the_short_way_of_a_commit_runs_nothing_planted(hostile, dibs):
    for vector in SILENT:
        if vector.name != "included-if":  # with conditional includes, a commit takes the long way
            hostile.plant(vector)
    edit(hostile)
    hostile.silence()

    status, out, err = perform(dibs, CASES["commit"])

    assert status == 0, out + err
    assert hostile.sung() == set()


def test_a_filter_included_for_other_git_directories_does_not_run(hostile, dibs):
    hostile.called("private")
    path = hostile.root / ".git" / "more"
    hostile.git("config", "--file", str(path), "filter.x.clean", f"{hostile.touch()}; cat")
    hostile.config("includeIf.gitdir:/**/*.d.path", str(path))
    hostile.attribute("*.dat filter=x")
    edit(hostile)
    hostile.silence()

    perform(dibs, CASES["commit"])

    assert hostile.sung() == set()


@pytest.mark.parametrize("name", ["merge-tested", "worktree-new", "worktree-rm", "forecast"])
def test_a_filter_included_only_for_worktrees_does_not_run(hostile, dibs, name):
    hostile.called("worktrees")
    path = hostile.root / ".git" / "more"
    for which in ("clean", "smudge"):
        hostile.git("config", "--file", str(path), f"filter.x.{which}", f"{hostile.touch()}; cat")
    hostile.config("includeIf.gitdir:/**/worktrees/**.path", str(path))
    hostile.attribute("*.dat filter=x")

    perform(dibs, CASES[name])

    assert hostile.sung() == set()
