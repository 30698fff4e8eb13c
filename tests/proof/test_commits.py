"""Agents and a plain git user commit in one tree, and each commit contains only its author's files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from proof_commit_judge import (
    Commit,
    Said,
    disagreements,
    foreign,
    git,
    history,
    index_of,
    late_tokens,
    left_over,
    on_disk,
    soundness,
    tree_of,
)
from proof_commits import SHARED, is_commit
from proof_crew import Repo, environment
from proof_machines import tell
from tests.soak import effort

from dibs.core.claims.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(effort(300, 1_200))]

JOBS = str(Path(__file__).with_name("proof_commits.py"))
AGENTS = 6
#: Commits per agent.
GOAL = effort(6, 340)
OWNERS = {
    start.format(who): who
    for who in (*(f"agent{n}" for n in range(AGENTS)), "plain", "stager")
    for start in ("src/{}-", "work/{}/", "{}.txt")
} | {"staged/": "stager"}


def job(*words: str, timeout: float = 1_000.0) -> dict[str, Any]:
    """Run a job of ``proof_commits`` and return its result."""
    done = subprocess.run(
        [sys.executable, JOBS, *words],
        env=environment(DIBS_LEDGER_LIMIT="1000000"),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert not found.pop("failed"), done.stderr[-3000:]
    return found


@pytest.fixture
def tree(repo: Repo) -> Repo:
    """Return a repository with a first commit, and its shared files."""
    (repo.path / "shared").mkdir()
    for path in SHARED:
        (repo.path / path).write_text("")
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "first")
    return repo


class Run:
    """What the agents did in a tree, and what Dibs reported."""

    def __init__(self, tree: Repo, diary: Path, user: str) -> None:
        self.path = tree.path
        self.start = git(tree.path, "rev-parse", "HEAD").stdout.strip()
        variables = json.dumps({"DIBS_LEDGER_LIMIT": "1000000"})
        words = (str(tree.path), variables, str(diary), str(AGENTS), str(GOAL), "1", user)
        self.took: float = job("crew", *words)["took"]
        self.lines: list[dict[str, Any]] = [json.loads(x) for x in diary.read_text().splitlines()]
        self.commits: list[Commit] = history(tree.path, self.start)
        self.told = [
            Said(line["agent"], line["commit"], line["changed"])
            for line in self.did("commit")
            if is_commit(line["commit"])
        ]
        rate = len(self.told) / self.took
        tell(f"{user}: {len(self.told)} commits by Dibs in {self.took:.1f} s ({rate:.0f}/s), "
             f"{len(self.commits) - len(self.told)} others")  # fmt: skip

    def did(self, what: str) -> Iterator[dict[str, Any]]:
        """Yield the records of one kind."""
        return (line for line in self.lines if line["did"] == what)

    def lost(self) -> list[str]:
        """Return the edits that were lost on disk."""
        return [
            f"{line['agent']} left {path} otherwise"
            for line in self.did("end")
            for path, state in line["left"].items()
            if on_disk(self.path / path) != state
        ]

    def lost_lines(self) -> list[str]:
        """Return committed lines of shared files that the last commit lacks."""
        there = "".join(
            git(self.path, "show", f"HEAD:{path}").stdout for path in SHARED
        ).splitlines()
        told = [
            line["line"]
            for line in self.did("commit")
            if "line" in line and is_commit(line["commit"])
        ]
        return sorted(set(told) - set(there)) + [x for x in there if there.count(x) > 1]


def ledger_disagrees(tree: Repo, commits: list[Commit]) -> list[str]:
    """Return agents' commits that are not in the ledger exactly once, and entries without a commit."""
    entries = [e.details["commit"] for e in tree.ledger() if e.kind == Kind.COMMITTED]
    real = {commit.id for commit in commits if commit.agent}
    wrong = [f"{oid} is not in the ledger" for oid in real - set(entries)]
    wrong += [f"{oid} is in the ledger alone" for oid in set(entries) - real]
    return wrong + [f"{oid} is there twice" for oid in set(entries) if entries.count(oid) > 1]


@pytest.mark.parametrize("user", effort(["index", "gated"], ["nobody", "only", "index", "gated"]))
def test_no_commit_contains_another_agents_path_and_no_edit_is_lost(
    tree: Repo, tmp_path: Path, user: str
):
    start = tree_of(tree.path)
    if user == "gated":  # this user commits everything, and the git hooks refuse
        installed = tree.dibs("git", "install")
        assert installed.returncode == 0, installed

    run = Run(tree, tmp_path / "diary", user)

    refused = [line for line in run.did("commit") if not is_commit(line["commit"])]
    assert refused == [], "all of them land, in some order"
    assert foreign(run.commits, OWNERS) == []
    assert disagreements(run.commits, run.told, start) == []
    assert late_tokens(run.commits, list(SHARED)) == []
    assert run.lost() == []
    assert run.lost_lines() == []
    assert ledger_disagrees(tree, run.commits) == []
    assert list(run.did("staged")) == [], "staged files stay staged"
    assert [line["count"] for line in run.did("kept")] == ([] if user == "index" else [4])
    assert soundness(tree.path) == []
    assert left_over(tree.path) == []
    committed = {path for commit in run.commits if commit.agent for path in commit.changed}
    index, head = index_of(tree.path), tree_of(tree.path)
    assert {p for p in committed if index.get(p) != head.get(p)} == set()
    if user != "nobody":
        plain = [c for c in run.commits if not c.agent]
        assert plain
        assert {p for c in plain for p in c.changed if "plain" not in p} == set()
    if user == "gated":
        swept = [line for line in run.did("plain") if line["code"] and "-a" in line["words"]]
        assert any("holds" in line["said"] for line in swept), swept


def test_alongside_git_commit_all_agents_commit_only_their_own_files_and_no_edit_is_lost(
    tree: Repo, tmp_path: Path
):
    run = Run(tree, tmp_path / "diary", "all")

    assert foreign(run.commits, OWNERS) == []
    assert run.lost() == []
    told = {line["commit"].split(":")[0] for line in run.did("commit")}
    told = {code for code in told if not is_commit(code)}
    assert told <= {"NOTHING_CHANGED", "CONFLICT"}, "what the user swept up is no longer changed"
    assert ledger_disagrees(tree, run.commits) == []
    assert soundness(tree.path) == []
    reverted = undone(run)
    assert reverted == [], "a commit of the user undid one of an agent"


def undone(run: Run) -> list[str]:
    """Return agents' files that a plain commit reverted to an earlier state."""
    wrong, past = [], dict[str, list[str]]()
    for commit in run.commits:
        for path, state in commit.changed.items():
            if not commit.agent and state in past.get(path, [])[:-1]:
                wrong.append(f"{commit.id}: {path} is as it was before")
            past.setdefault(path, [""]).append(state)
    return wrong


@pytest.mark.parametrize("whole", effort(["whole"], ["", "whole"]))
def test_killed_commands_leave_complete_commits_and_a_consistent_ledger(
    tree: Repo, tmp_path: Path, whole: str
):
    diary, kills = tmp_path / "diary", effort(10, 200)
    start, state = git(tree.path, "rev-parse", "HEAD").stdout.strip(), tree_of(tree.path)

    words = (json.dumps({"DIBS_LEDGER_LIMIT": "100000"}), str(diary), str(kills), "5", whole)
    found = job("storm", str(tree.path), *words)

    lines = [json.loads(line) for line in diary.read_text().splitlines()]
    commits = history(tree.path, start)
    locks = [name for line in lines if line["did"] == "locks" for name in line["names"]]
    tell(f"{found['kills']} kills, {len(commits)} commits, {len(locks)} locks of git's own")
    assert {line["status"] for line in lines if line["did"] == "beside"} <= {0, 6}
    assert {line["status"] for line in lines if line["did"] == "end"} <= {0, 6}
    attempts = {line["number"]: line for line in lines if line["did"] == "attempt"}
    for commit in commits:
        message = git(tree.path, "log", "-1", "--format=%s", commit.id).stdout
        tried = attempts.pop(int(message.split()[1]))  # no attempt is committed twice
        meant = {p: s for p, s in tried["left"].items() if s != state.get(p, "")}
        assert (commit.agent, commit.changed) == (tried["agent"], meant)
        state.update(commit.changed)
    assert soundness(tree.path) == []
    assert left_over(tree.path) == []
    assert ledger_disagrees(tree, commits) == []
    assert [key for key in tree.rows() if key.startswith("intent/")] == []
    head, index = tree_of(tree.path), index_of(tree.path)
    for line in lines:
        if line["did"] == "end":
            for path, left in line["left"].items():
                assert (head.get(path, ""), index.get(path, "")) == (left, left), path
                assert on_disk(tree.path / path) == left
