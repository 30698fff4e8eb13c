"""Agents that leave lines to each other lose no acknowledged line, under kills and pauses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from proof_commit_judge import git, soundness
from proof_crew import Repo, environment
from proof_leftovers import FILES
from proof_machines import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = os.environ.get("DIBS_PROOF") == "long"
SPAN = 60 if LONG else 10
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

JOBS = str(Path(__file__).with_name("proof_leftovers.py"))


def versions(repo: Path, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each commit on the branch and the lines that it has of a file, oldest first."""
    for commit in git(repo, "log", "--reverse", "--format=%H", "--", path).stdout.split():
        yield commit, git(repo, "show", f"{commit}:{path}").stdout.splitlines()


def test_agents_that_leave_lines_to_each_other_lose_none(repo: Repo, tmp_path: Path):
    for path in FILES:
        (repo.path / path).write_text("".join(f"{path} {number}\n" for number in range(5)))
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "first")
    diary = tmp_path / "diary"
    done = subprocess.run(
        [sys.executable, JOBS, str(repo.path), str(diary), str(SPAN), "1"],
        env=environment(), capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)

    notes = [json.loads(line) for line in diary.read_text().splitlines()]
    removed = {note["line"] for note in notes if note["did"] == "removed"}
    commits = [note for note in notes if note["did"] == "commit" and len(note["said"]) == 40]
    there = {path: git(repo.path, "show", f"HEAD:{path}").stdout.splitlines() for path in FILES}
    acknowledged = {line for note in commits for line in note["lines"]}
    lost = acknowledged - removed - {line for lines in there.values() for line in lines}
    refused = [note for note in notes if note["did"] == "refused"]
    second = [note["said"] for note in notes if note["did"] == "second"]
    succeeded = [said for said in second if len(said) == 40]
    tell(
        f"{len(acknowledged)} lines acknowledged in {len(commits)} commits, {len(lost)} lost; {len(refused)} "
        f"commits refused, {len(succeeded)} of {len(second)} next attempts succeeded; "
        f"{found['kills']} kills, {found['pauses']} pauses"
    )
    assert lost == set()
    for path in FILES:
        before: list[str] = []
        for commit, lines in versions(repo.path, path):
            gone = {line for line in before if line not in lines} - removed
            assert gone == set(), f"{commit} removed landed lines from {path}"
            before = lines
    assert len(commits) > SPAN / 2
    assert refused
    assert len(succeeded) >= len(second) * 0.9
    assert soundness(repo.path) == []
