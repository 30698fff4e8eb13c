"""Agents that ask their hooks, killed at random: no two write one file without being stopped or caught."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest
from proof_crew import SOURCE, Repo, environment, eventually, git
from proof_hooked import Hooked
from tests.soak import effort

pytestmark = pytest.mark.slow

PROGRAM = str(Path(__file__).with_name("proof_hooked.py"))
RUN = f"{SOURCE}/dibs/guard/run.py"
FILES = ["src/x.py", "src/y.py", "src/z.py"]
SECONDS = effort(6, 300)
AGENTS = 3
#: How many times each of both must have happened.
ENOUGH = effort(1, 3)
#: How much longer a loaded machine may take until enough has happened.
PATIENCE = 60


@pytest.fixture
def committed(repo: Repo) -> Repo:
    """Return a repository with committed files that Dibs knows."""
    for path in FILES:
        (repo.path / path).write_text("begin\n")
    git(repo.path, "config", "user.name", "t")
    git(repo.path, "config", "user.email", "t@example.org")
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-qm", "files")
    assert repo.dibs("init", "--agents", "none").returncode == 0
    return repo


def start(repo: Repo, diary: Path, seed: str) -> tuple[str, subprocess.Popen[bytes]]:
    session = str(uuid.uuid4())
    words = [sys.executable, PROGRAM, RUN, str(repo.path), str(diary), session, seed, *FILES]
    env = environment()
    return session, subprocess.Popen(words, cwd=repo.path, env=env, stdin=subprocess.DEVNULL)


def kill(process: subprocess.Popen[bytes], *, hook: bool) -> None:
    """Kill an agent, or the hook that it waits for."""
    if hook:
        for child in psutil.Process(process.pid).children():
            child.kill()
        return
    process.kill()
    process.wait()


def play(repo: Repo, diary: Path, seed: int) -> dict[str, float]:
    """Let agents live and die, and return when each session died."""
    chance = random.Random(seed)
    alive = dict(start(repo, diary, f"{seed}-{n}") for n in range(AGENTS))
    dead: dict[str, float] = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or (time.monotonic() < end + PATIENCE and not telling(diary)):
        time.sleep(chance.uniform(0.1, 1.5))
        session = chance.choice(list(alive))
        hook = chance.random() < 0.4
        try:
            kill(alive[session], hook=hook)
        except psutil.NoSuchProcess:
            continue
        if not hook:
            dead[session] = time.monotonic()
            del alive[session]
            alive |= dict([start(repo, diary, f"{seed}-{session}")])
    for session, process in alive.items():
        kill(process, hook=False)
        dead[session] = time.monotonic()
    return dead


def telling(diary: Path) -> bool:
    """Return whether some were allowed and some were not."""
    told = [each["what"] for each in read(diary)] if diary.exists() else []
    return min(told.count("allowed"), told.count("refused")) > ENOUGH


def read(diary: Path) -> list[dict]:
    lines = [json.loads(line) for line in diary.read_text().splitlines()]
    return sorted(lines, key=lambda line: line["ended"])


def stolen(lines: list[dict], dead: dict[str, float]) -> list[tuple[dict, dict]]:
    """Return each allowed write to a file that a live agent had changed and still held."""
    found = []
    held: dict[str, dict] = {}
    for line in lines:
        path, who = line["path"], line["who"]
        before = held.get(path)
        if line["what"] == "releases" and before and before["who"] == who:
            del held[path]
        if line["what"] != "allowed":
            continue
        if before and before["who"] != who and dead[before["who"]] > line["ended"]:
            found.append((before, line))
        held[path] = line
    return found


def unseen(repo: Repo, lines: list[dict], dead: dict[str, float]) -> list[tuple[dict, dict]]:
    """Return each hidden write to a file that another agent held all along, and that was not recorded."""
    noted = {str(e.details) + e.summary for e in repo.ledger() if e.kind == "foreign_write"}
    found = []
    held: dict[str, dict] = {}
    for line in lines:
        path, who = line["path"], line["who"]
        before = held.get(path)
        if line["what"] == "allowed":
            held[path] = line
        elif line["what"] == "releases" and before and before["who"] == who:
            del held[path]
        elif line["what"] == "sly" and before and before["who"] != who:
            sure = before["ended"] < line["began"] and dead[before["who"]] > line["ended"]
            if sure and not any(path in text for text in noted):
                found.append((before, line))
    return found


def inherit(repo: Repo, diary: Path) -> None:
    """Write every file as an agent that comes after all are dead: no one has to wait for a ttl.

    A hook that outlives its agent may claim once more, so an edit is retried.
    """
    heir = Hooked(RUN, str(repo.path), str(diary), str(uuid.uuid4()), "")
    for path in FILES:
        eventually(
            f"{path} is available", lambda path=path: heir.edit(path) or path in heir.mine, 20
        )


@pytest.mark.parametrize("seed", [1])
def test_no_two_agents_write_one_file_without_being_stopped_or_caught(committed: Repo, seed: int):
    diary = committed.path.parent / "diary"

    dead = play(committed, diary, seed)

    lines = read(diary)
    assert telling(diary), lines
    assert stolen(lines, dead) == []
    assert unseen(committed, lines, dead) == []
    inherit(committed, diary)


def line(who: str, what: str, began: float) -> dict:
    return {"who": who, "what": what, "path": "src/x.py", "began": began, "ended": began + 1}


def test_the_judge_sees_a_theft_and_no_other_case():
    dead = {"a": 100.0, "b": 100.0}
    first, then = line("a", "allowed", 1), line("b", "allowed", 5)

    assert stolen([first, then], dead) == [(first, then)]
    assert stolen([first, line("a", "releases", 3), then], dead) == []
    assert stolen([first, then], dead | {"a": 5.5}) == []
    assert stolen([first, line("b", "refused", 5)], dead) == []


def test_the_judge_sees_what_was_not_recorded(committed: Repo):
    dead = {"a": 100.0, "b": 100.0}
    first, sly = line("a", "allowed", 1), line("b", "sly", 5)

    assert unseen(committed, [first, sly], dead) == [(first, sly)]
    assert unseen(committed, [first, sly], dead | {"a": 5.5}) == []
