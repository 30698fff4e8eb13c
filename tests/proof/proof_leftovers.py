"""Agents, each a process, edit the same files in one tree, and leave or commit what they wrote.

Run as a program: it kills and pauses agents for some time. Each one records what it writes, what it removes,
and what Dibs acknowledges.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proof_commit_judge import AUTHOR
from proof_nursery import fork, say

from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.errors import DibsError
from dibs.project.project import open_project
from dibs.services.commits.values import CommitDenied, CommitRequest

if TYPE_CHECKING:
    from dibs.project.project import Project

FILES = ("one.txt", "two.txt", "three.txt")
AGENTS = 4
#: Work until so many commits were refused, but at most so many seconds longer.
ENOUGH, LONGER = 3, 60.0


class Writer:
    """One agent, and what it wrote since its last commit."""

    def __init__(self, repo: str, name: str, diary: str, seed: float) -> None:
        self.repo, self.name, self.draw = Path(repo), name, random.Random(f"{name} {seed}")
        self.project: Project = open_project(repo, {"DIBS_LEDGER_LIMIT": "1000000"})
        self.caller = Caller(name)
        self.diary = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.count = 0

    def note(self, did: str, **more: Any) -> None:
        """Record what happened."""
        line = json.dumps({"agent": self.name, "did": did, **more}) + "\n"
        os.write(self.diary, line.encode())

    def run(self) -> None:
        """Work until killed."""
        while True:
            path = self.draw.choice(FILES)
            if isinstance(self.project.claims.claim(self.caller, [parse(path)], ttl=300), Granted):
                self.edit(path)
                if self.draw.random() < 0.6:
                    self.commit(path)
                if self.draw.random() < 0.7:
                    self.project.holdings.release(self.caller, [parse(path)])

    def edit(self, path: str) -> None:
        """Append a line, or replace one, in one step."""
        place = self.repo / path
        lines = place.read_text().splitlines()
        self.count += 1
        line = f"{self.name} {os.getpid()} {self.count}"
        if lines and self.draw.random() < 0.3:
            at = self.draw.randrange(len(lines))
            self.note("removed", line=lines[at])
            lines[at] = line
        else:
            lines.append(line)
        draft = place.with_name(f".{self.name}.draft")
        draft.write_text("".join(f"{line}\n" for line in lines))
        os.replace(draft, place)

    def commit(self, path: str) -> None:
        """Commit a file; after a refusal, do what it says."""
        lines = (self.repo / path).read_text().splitlines()
        said = self.attempt(path, inherited=False)
        if said == "INHERITED":
            self.note("refused", path=path)
            said = self.attempt(path, inherited=True)
            self.note("second", said=said)
        self.note("commit", said=said, lines=lines)

    def attempt(self, path: str, *, inherited: bool) -> str:
        """Return the commit, or the error code."""
        wish = CommitRequest(f"{self.name} {self.count}", (parse(path),), inherited=inherited)
        try:
            answer = self.project.commits.commit(self.caller, wish)
        except DibsError as error:
            return error.code
        return answer.code if isinstance(answer, CommitDenied) else answer.commit


def write(repo: str, diary: str, name: str, seed: float) -> None:
    """Be one agent until killed."""
    Writer(repo, name, diary, seed).run()


def crowd(repo: str, diary: str, span: str, seed: str) -> Any:
    """Let agents work for some seconds, and kill and pause them meanwhile."""
    os.environ.update(AUTHOR)
    draw, names = random.Random(seed), [f"agent{number}" for number in range(AGENTS)]

    def start(name: str) -> int:
        return fork(partial(write, repo, diary, name, draw.random()))

    Path(diary).touch()
    running = {name: start(name) for name in names}
    until, kills, pauses = time.monotonic() + float(span), 0, 0
    while time.monotonic() < until or (
        refusals(diary) < ENOUGH and time.monotonic() < until + LONGER
    ):
        time.sleep(draw.uniform(0.1, 0.5))
        name = draw.choice(names)
        if draw.random() < 0.5:
            os.kill(running[name], signal.SIGSTOP)
            time.sleep(draw.uniform(0.05, 0.3))
            os.kill(running[name], signal.SIGCONT)
            pauses += 1
            continue
        end(running[name])
        kills += 1
        if draw.random() < 0.5:
            fork_and_wait(partial(revoke, repo, name))
        running[name] = start(name)
    for pid in running.values():
        end(pid)
    for name in names:
        fork_and_wait(partial(revoke, repo, name))
    fork_and_wait(partial(finish, repo, diary))
    return {"kills": kills, "pauses": pauses}


def refusals(diary: str) -> int:
    """Count the refused commits so far."""
    return Path(diary).read_text().count('"refused"')


def end(pid: int) -> None:
    """Kill an agent."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def fork_and_wait(act: Any) -> None:
    """Run a function in another process, which must succeed."""
    assert os.waitpid(fork(act), 0)[1] == 0


def revoke(repo: str, name: str) -> None:
    """Take a dead agent's claims as a human, so that its uncommitted lines are left to others."""
    project = open_project(repo, {"DIBS_LEDGER_LIMIT": "1000000"})
    held = project.store.look(
        lambda rows: [claim.pattern for _, claim in rows.claims() if claim.agent == name]
    )
    for pattern in held:
        project.holdings.revoke(Caller("ann", "human"), parse(pattern), reason="it was killed")
    project.close()


def finish(repo: str, diary: str) -> None:
    """Commit what is left of each file, as an agent that does what the refusals say."""
    closer = Writer(repo, "closer", diary, 0.0)
    for path in FILES:
        granted = closer.project.claims.claim(closer.caller, [parse(path)])
        assert isinstance(granted, Granted)
        closer.edit(path)
        closer.commit(path)
    closer.project.close()


if __name__ == "__main__":
    say(crowd(*sys.argv[1:]))
