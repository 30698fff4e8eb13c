"""``dibs crew`` as a person uses it: one command starts the server and the crew, others look and act."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.server.conftest import make_project, own_environment, run_dibs

STUB = Path(__file__).parents[1] / "crew" / "stub_agent.py"
CREW = """\
max_agents = 2

[roles.developer]
command = {command}
set = {{ STUB_DIARY = "{diary}" }}
"""


class Person:
    """A person with a home of their own, a repository, and a token that proves a human without a terminal."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.environ = own_environment(base)
        self.repo = make_project(base / "repo", self.environ)
        made = run_dibs(self.repo, self.environ, "token", "new", "--scope", "human")
        self._proof = {"DIBS_TOKEN": made.stdout.strip()}

    def around(self, *words: str) -> dict[str, str]:
        """Return the environment of a command; what the crew is started with proves nothing."""
        return self.environ if words[:2] == ("crew", "up") else {**self.environ, **self._proof}

    def write_crew(self) -> None:
        command = json.dumps([sys.executable, str(STUB)])
        text = CREW.format(command=command, diary=self.base / "diary")
        (self.repo / "crew.toml").write_text(text)

    def dibs(self, *words: str, status: int = 0, **environ: str) -> str:
        done = run_dibs(self.repo, {**self.around(*words), **environ}, *words)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def json(self, *words: str):
        done = run_dibs(self.repo, self.around(*words), *words, "--json")
        return json.loads(done.stdout)

    def until(self, holds, within: float = 60.0):
        give_up = time.monotonic() + within
        while not (found := holds()):
            assert time.monotonic() < give_up, self.dibs("crew", "ls", "--all")
            time.sleep(0.05)
        return found


@pytest.fixture
def person():
    base = Path(tempfile.mkdtemp(prefix="dibs-", dir="/tmp"))
    found = Person(base)
    yield found
    for words in (("crew", "stop"), ("serve", "stop")):
        run_dibs(found.repo, found.around(*words), *words)
    shutil.rmtree(base, ignore_errors=True)


def test_crew_up_takes_a_board_to_merged_files_and_stop_leaves_nothing(person):
    person.write_crew()
    first = person.json("task", "new", "write a.txt done")["created"][0]["id"]
    person.dibs("task", "new", "write b.txt done", "--needs", first)

    said = person.dibs("crew", "up")

    assert "the crew is up: roles developer; at most 2 agents" in said
    person.until((person.repo / "b.txt").exists)
    listed = person.json("crew", "ls")
    assert {one["state"] for one in listed["members"]} <= {"idle", "working"}
    assert listed["supervisor"] is True
    pids = [one["pid"] for one in listed["members"]]
    agent = listed["members"][0]["agent"]
    assert "done" in person.dibs("crew", "logs", agent)
    assert agent in person.dibs("crew", "show", agent)
    assert f"stopped {agent}" in person.dibs("crew", "stop")
    person.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    assert person.json("crew")["up"] is False
    assert {one["state"] for one in person.json("crew", "ls", "--all")["members"]} == {"stopped"}


def test_scale_pause_spawn_restart_and_agent_stop(person):
    person.write_crew()
    person.dibs("crew", "up")

    assert person.json("crew", "scale", "5")["limit"] == 5
    assert person.json("crew", "pause")["paused"] is True
    person.dibs("task", "new", "hang")
    assert "the crew is paused" in person.dibs("crew", "ls")
    assert person.json("crew", "resume")["paused"] is False
    person.until(
        lambda: [one for one in person.json("crew")["members"] if one["state"] == "working"]
    )
    spawned = person.json("crew", "spawn", "developer")["member"]["agent"]
    person.until(lambda: person.json("crew", "show", spawned)["member"]["pid"])
    before = person.json("crew", "show", "developer-1")["member"]["pid"]
    person.dibs("crew", "restart", "developer-1")
    after = person.until(lambda: person.json("crew", "show", "developer-1")["member"]["pid"])
    assert after != before
    assert person.json("crew", "show", "developer-1")["member"]["restarts"] == 1
    assert "stopped developer-1" in person.dibs(
        "agent", "stop", "developer-1", "--reason", "enough"
    )
    person.until(lambda: not os.path.exists(f"/proc/{after}"))


@pytest.mark.parametrize(
    "verb", [("up",), ("stop",), ("restart",), ("scale", "3"), ("pause",), ("resume",)]
)
def test_agents_do_not_control_the_whole_crew(person, verb):
    person.write_crew()

    person.dibs("crew", *verb, status=77, DIBS_AGENT="mallory")


def test_logs_follow_an_agent_until_interrupted(person):
    person.write_crew()
    person.dibs("crew", "up")
    person.dibs("task", "new", "say hello wait done")
    person.until((person.base / "diary").exists)
    words = [sys.executable, "-m", "dibs", "crew", "logs", "developer-1", "-f"]
    with (
        (person.base / "seen").open("wb") as seen,
        subprocess.Popen(words, cwd=person.repo, env=person.environ, stdout=seen) as reader,
    ):
        person.until(lambda: "hello" in (person.base / "seen").read_text())
        (person.base / "go").touch()
        person.until(lambda: "contained in main" in (person.base / "seen").read_text())
        reader.terminate()
