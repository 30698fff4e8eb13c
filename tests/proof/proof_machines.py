"""Machines: clones of one repository, each with its own home, that share one store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proof_crew import Repo, environment, eventually, git
from proof_diary import held_twice
from proof_nursery import clashes

from dibs.project.project import open_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.project.project import Project

JOBS = str(Path(__file__).with_name("proof_engine_jobs.py"))
#: What a crew claims; all but the last overlap.
PATHS = ["src/x.py", "src/*.py", "src/[xy].py", "docs/"]
FENCED, UNKNOWN, UNAVAILABLE = 4, 5, 69
#: How much longer a loaded machine may take to start a command.
SLACK = 8.0


class Machine(Repo):
    """A clone on its own machine: separate home, separate working tree, one store."""

    def __init__(self, path: Path, variables: dict[str, str]) -> None:
        super().__init__(path)
        self.variables = variables

    @property
    def spec(self) -> list[Any]:
        """What a job needs to work here."""
        return [str(self.path), self.variables]

    def at(self, engine: str) -> Machine:
        """Return the same machine with another URL for the store."""
        return Machine(self.path, {**self.variables, "DIBS_ENGINE": engine})

    def start(
        self, *words: str, agent: str = "", cwd: Path | None = None, **extra: str
    ) -> subprocess.Popen[str]:
        """Start ``dibs`` on this machine."""
        return super().start(*words, agent=agent, cwd=cwd, **{**self.variables, **extra})

    @contextmanager
    def project(self) -> Iterator[Project]:
        """Open the project in this process."""
        project = open_project(str(self.path), self.variables)
        try:
            yield project
        finally:
            project.close()

    def puppet(self, agent: str) -> Puppet:
        """Return an agent on this machine, in its own process."""
        return Puppet(self, agent)

    def token(self, *words: str, agent: str) -> int:
        """Claim, and return the token."""
        done = self.dibs("claim", *words, "--json", agent=agent)
        assert done.returncode == 0, done
        token: int = json.loads(done.stdout)["token"]
        return token


def machines(folder: Path, engine: str, count: int = 2, **variables: str) -> list[Machine]:
    """Create a shared repository and ``count`` clones of it, whose claims are stored in ``engine``.

    ``git:origin`` stores them in the shared repository itself.
    """
    seed = Repo.make(folder / "seed")
    git(seed.path, "add", "-A")
    git(seed.path, "commit", "-qm", "files")
    origin = folder / "origin.git"
    if not origin.exists():
        git(folder, "clone", "-q", "--bare", str(seed.path), str(origin))
    made = []
    for number in range(count):
        home = folder / f"home-{number}"
        home.mkdir()
        path = home / "work"
        git(folder, "clone", "-q", str(origin), str(path))
        made.append(Machine(path, {"HOME": str(home), "DIBS_ENGINE": engine, **variables}))
    return made


class Job:
    """A program with many agents; it runs until stopped, and then reports."""

    def __init__(self, name: str, *words: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, JOBS, name, *map(json.dumps, words)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def hear(self) -> Any:
        """Return the job's next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the job has failed: see above"
        return json.loads(line)

    def end(self, timeout: float = 60.0) -> Any:
        """Tell the job to stop, and return its last report."""
        out, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0
        return json.loads(out.splitlines()[-1])

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind, whatever went wrong."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
        self.process.communicate()


class Puppet:
    """An agent in its own process, which executes one order at a time."""

    def __init__(self, machine: Machine, agent: str) -> None:
        self.job = Job("puppet", machine.spec, agent)
        self.pid = self.job.process.pid

    def say(self, *words: str) -> None:
        """Send an order."""
        assert self.job.process.stdin is not None
        self.job.process.stdin.write(" ".join(words) + "\n")
        self.job.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Return the response to the oldest pending order."""
        answer: dict[str, Any] = self.job.hear()
        return answer

    def do(self, *words: str) -> dict[str, Any]:
        """Send an order and return the response."""
        self.say(*words)
        return self.hear()

    def __enter__(self) -> Puppet:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, whatever it does."""
        self.job.__exit__()


def one_line(answer: subprocess.CompletedProcess[str], status: int) -> None:
    """Check that a command failed properly: known status, one line, no traceback."""
    assert answer.returncode == status, answer
    assert answer.stderr.startswith("dibs: ")
    assert answer.stderr.count("\n") == 1, answer.stderr


def crew_of(crew: list[Machine], size: int, diary: Path, rest: float = 0.002) -> Job:
    """Start a crew that claims and releases, and return once all work."""
    specs = [machine.spec for machine in crew]
    job = Job("crew", specs, size, str(diary), PATHS, 5.0, rest)
    job.hear()
    progress(diary, size)
    return job


def progress(diary: Path, rounds: int) -> None:
    """Wait until this many more claims were released."""

    def done() -> int:
        text = diary.read_text() if diary.exists() else ""
        return sum('"release"' in line and '"kind"' not in line for line in text.splitlines())

    goal = done() + rounds
    eventually("the crew makes progress", lambda: done() >= goal, 40)


def kill_commands(crew: list[Machine], folder: Path, pairs: int, within: float = 5.0) -> None:
    """Let commands race and kill them; no confirmed claim is missing, and no one has to wait for long."""
    answers = folder / "answers"
    answers.mkdir()
    with Job("killed", [m.spec for m in crew], str(answers), pairs) as job:
        report = job.end()

    acknowledged, errors = {}, []
    for file in answers.iterdir():
        text = file.read_text()
        shape = json.loads(text) if text.endswith("}\n") else {}
        if "error" in shape:
            errors.append(shape["error"])
        elif shape.get("outcome") == "granted":
            (claim,) = shape["claims"]
            assert claim["pattern"] not in acknowledged, "two agents got the same claim"
            acknowledged[claim["pattern"]] = (claim["agent"], claim["token"])
    assert errors == [], "a command that was not killed is granted or denied"
    tell(f"{report['struck']} of {2 * pairs} killed on their way, {len(acknowledged)} confirmed")
    assert report["struck"] >= 5, "most had ended before they were killed"
    assert len(acknowledged) >= 2
    started = time.monotonic()
    for number, machine in enumerate(crew):
        done = machine.dibs("claim", f"after-{number}.py", agent="after")
        assert done.returncode == 0, done
    assert time.monotonic() - started < within + SLACK
    for machine in crew:
        with machine.project() as project:
            held = {
                h.claim.pattern: (h.claim.agent, h.claim.token) for h in project.claims.all()[0]
            }
            assert acknowledged.items() <= held.items()
            assert clashes(project) == []
    assert held_twice(crew[0].ledger()) == []


def tell(figure: str) -> None:
    """Print a figure for the test report (``pytest -rP``)."""
    print(figure)  # noqa: T201
