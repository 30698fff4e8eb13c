"""Real repositories and real processes for the proofs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from dibs.core.patterns.filing import Range
from dibs.project.project import open_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.core.claims.ledger import Entry
    from dibs.project.project import Project

SOURCE = str(Path(dibs.__file__).parents[1])
NURSERY = str(Path(__file__).with_name("proof_nursery.py"))
LONG = 60.0


def environment(**extra: str) -> dict[str, str]:
    """Return an environment without Dibs settings, except ``extra``."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}
    return {**plain, "PYTHONPATH": SOURCE, "GIT_CONFIG_GLOBAL": os.devnull, **extra}


def eventually(what: str, holds: Callable[[], Any], within: float = LONG) -> Any:
    """Return the first true result; fail if there is none in time."""
    give_up = time.monotonic() + within
    while not (answer := holds()):
        assert time.monotonic() < give_up, f"not within {within} s: {what}"
        time.sleep(0.01)
    return answer


class Repo:
    """A git repository and the commands run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, path: Path) -> Repo:
        """Create a repository with a few files."""
        path.mkdir(parents=True, exist_ok=True)
        git(path, "init", "-q", "--template=")
        (path / "src").mkdir()
        for name in ("x.py", "y.py"):
            (path / "src" / name).write_text("")
        return cls(path)

    @property
    def state(self) -> Path:
        """Where Dibs keeps its state."""
        return self.path / ".git" / "dibs"

    def start(
        self, *words: str, agent: str = "", cwd: Path | None = None, **extra: str
    ) -> subprocess.Popen[str]:
        """Start ``dibs``."""
        if agent:
            extra["DIBS_AGENT"] = agent
        return subprocess.Popen(
            [sys.executable, "-m", "dibs", *words],
            cwd=cwd or self.path,
            env=environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dibs(
        self, *words: str, agent: str = "", cwd: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``dibs`` to completion."""
        process = self.start(*words, agent=agent, cwd=cwd, **extra)
        out, err = process.communicate(timeout=LONG)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def claims(self, cwd: Path | None = None) -> dict[str, str]:
        """Return who holds what, according to ``dibs status``."""
        status = self.dibs("status", "--json", cwd=cwd)
        assert status.returncode == 0, status.stderr
        return {c["pattern"]: c["agent"] for c in json.loads(status.stdout)["claims"]}

    @contextmanager
    def project(self) -> Iterator[Project]:
        """Open the project in this process."""
        project = open_project(str(self.path), {})
        try:
            yield project
        finally:
            project.close()

    def tickets(self) -> list[str]:
        """Return the waiting agents, in order."""
        with self.project() as project:
            return [waiter.ticket.agent for waiter in project.claims.all()[1]]

    def ledger(self) -> list[Entry]:
        """Return the whole ledger."""
        with self.project() as project:
            return project.engine.view(lambda txn: list(txn.events()))

    def rows(self) -> dict[str, str]:
        """Return every row of the store."""
        with self.project() as project:
            return project.engine.view(lambda txn: dict(txn.scan(Range(""))))


def git(path: Path, *words: str) -> None:
    """Run git."""
    identity = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org"}
    subprocess.run(["git", *words], cwd=path, env=environment(**identity), check=True)


def nursery(*words: str, timeout: float = 120.0) -> dict[str, Any]:
    """Run a job of ``proof_nursery`` and return what it found."""
    done = subprocess.run(
        [sys.executable, NURSERY, *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Puppet:
    """An agent in its own process, which executes one order at a time."""

    def __init__(self, repo: Repo, agent: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, NURSERY, "puppet", str(repo.path), agent],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, *words: str) -> None:
        """Send an order."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Return the response to the oldest pending order."""
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def do(self, *words: str) -> dict[str, Any]:
        """Send an order and return the response."""
        self.say(*words)
        return self.hear()

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.communicate()
