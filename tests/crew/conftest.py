"""A crew of stub agents in a real repository, with a supervisor that a test lets look."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dibs.core.claims.agents import Caller
from dibs.core.crew.members import MemberState
from dibs.crew import control
from dibs.crew.processes import end_marked
from dibs.crew.supervisor import Supervisor
from dibs.local.processes import running
from dibs.project.project import create
from dibs.services.crew.service import CrewMembers
from dibs.services.tasks.values import new_draft

STUB = Path(__file__).with_name("stub_agent.py")
HUMAN = Caller("ann", "human")
#: Seconds within which everything that a test waits for happens on a busy machine.
PATIENCE = 60.0


class CrewWorld:
    """A repository with a crew; ``until`` lets the supervisor look until something is true."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        self.diary_file = folder / "diary"
        self.repo.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "ann")
        self.git("config", "user.email", "ann@example.org")
        (self.repo / "README.md").write_text("code\n")
        (self.repo / ".gitignore").write_text("work/\ncrew.toml\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "start")
        self.project, _ = create(str(self.repo))
        self.supervisor = Supervisor(str(self.repo))

    @property
    def crew(self) -> CrewMembers:
        return CrewMembers(self.project.store)

    def git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at or self.repo, check=True, capture_output=True, text=True
        )
        return done.stdout

    def up(self, role: str = "", crew: str = "", command: list[str] | None = None) -> None:
        """Write a crew.toml with one role that runs the stub, and start the crew."""
        words = json.dumps(command or [sys.executable, str(STUB)])
        settings = f'set = {{ STUB_DIARY = "{self.diary_file}" }}'
        text = f"{crew}\n[roles.developer]\ncommand = {words}\n{settings}\n{role}\n"
        (self.repo / "crew.toml").write_text(text)
        control.up(self.project, HUMAN)

    def task(self, title: str, *, needs: tuple[str, ...] = (), agent: str = "") -> str:
        draft = new_draft(title, agent=agent, needs=needs)
        return self.project.tasks.create(HUMAN, [draft]).tasks[0].id

    def status(self, task: str) -> str:
        return self.project.tasks.show(None, task).stored.task.status

    def until(self, holds, what: str = "", within: float = PATIENCE):
        """Let the supervisor look until ``holds`` returns something; return that."""
        give_up = time.monotonic() + within
        while not (found := holds()):
            assert time.monotonic() < give_up, f"{what}: {self.state()}"
            self.supervisor.tick(self.project)
            self.hurry()
            time.sleep(0.02)
        return found

    def hurry(self) -> None:
        """Let the pauses before restarts end now."""
        for member in self.crew.members():
            if member.state == MemberState.CRASHED and not member.gave_up:
                self.crew.report(member.agent, member.nonce, restart_at=0.001)

    def member(self, agent: str = "developer-1"):
        return self.crew.member(agent)

    def diary(self, what: str = "start") -> list[dict]:
        if not self.diary_file.exists():
            return []
        lines = [json.loads(line) for line in self.diary_file.read_text().splitlines()]
        return [one for one in lines if one["what"] == what]

    def kinds(self, *kinds: str) -> list:
        return [one for one in self.project.ledger.page(0, 10_000).entries if one.kind in kinds]

    def state(self) -> str:
        members = [(one.agent, one.state, one.cause) for one in self.crew.members()]
        logs = [
            control.output(self.project, name, limit=2_000).text[-1_500:]
            for name, *_ in members[:3]
        ]
        return f"{members} {logs}"

    def close(self) -> None:
        for process in self.supervisor.runners():
            process.kill()
            process.wait()
        for member in self.crew.members():
            end_marked(member.nonce, member.pid, member.born)
        self.project.close()


def lives(pid: int) -> bool:
    """Return whether a process runs."""
    return running(pid) is not None


@pytest.fixture
def world(tmp_path):
    found = CrewWorld(tmp_path)
    yield found
    found.close()
