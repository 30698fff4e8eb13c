"""A repository with real agents, each with its own home, set up by ``dibs init``."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.agents import KINDS
from tests.e2e.agents.base import BINARIES
from tests.e2e.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.agents import Kind
    from tests.e2e.model import Script

FILES = {f"src/{name}.py": f"{name} = 0\n" for name in "abcde"}
#: The folder of the ``dibs`` under test.
HERE = os.path.dirname(sys.executable)
#: The time limit for one agent; the slowest needs a third of it.
LIMIT = 150


@dataclass
class Run:
    """An agent that is running or has ended."""

    kind: Kind
    model: Model
    process: subprocess.Popen[bytes]
    output: Path
    began: float = field(default_factory=time.monotonic)

    def wait(self) -> int:
        """Wait until the agent has ended, and return its exit status."""
        return self.process.wait(LIMIT)

    @property
    def seen(self) -> str:
        """Everything that its model was shown."""
        return "\n".join(asked.text for asked in self.model.asked)

    def result(self, label: str, word: str = "") -> str:
        """Return the result of a step as the model saw it; if there is none, fail with the agent's output."""
        result = self.model.result(label, word)
        assert result, f"no answer to {label!r}: {self.told()}"
        return result

    def told(self) -> str:
        """Return the end of its output."""
        return self.output.read_text(errors="replace")[-3000:]


class World:
    """A repository, and the commands that run in it."""

    def __init__(
        self, folder: Path, kinds: list[Kind], *, wired: bool = True, settings: str = ""
    ) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        self.runs: list[Run] = []
        self._homes = 0
        self._repository(settings)
        if wired:
            names = ",".join(dict.fromkeys(kind.name for kind in kinds))
            init = self.dibs("init", "--agents", names)
            assert init.returncode == 0, init.stdout + init.stderr

    def dibs(
        self, *words: str, environ: dict[str, str] | None = None, token: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the human; while agents run, a ``token`` proves that, as there is no terminal."""
        return self._run("dibs", *words, environ=environ, token=token)

    def git(self, *words: str) -> str:
        """Run git as the human, and return its output."""
        return self._run("git", *words).stdout.strip()

    def text(self, path: str) -> str:
        """Return a file's content."""
        return (self.repo / path).read_text()

    def tree(self, agent: str) -> Path:
        """Return an agent's worktree."""
        found = json.loads(self.dibs("worktree", "ls", "--json").stdout)
        return Path(next(one["path"] for one in found["worktrees"] if one["agent"] == agent))

    def claims(self) -> dict[str, str]:
        """Return the claims."""
        status = json.loads(self.dibs("status", "--json").stdout)
        return {claim["pattern"]: claim["agent"] for claim in status["claims"]}

    def waiting(self) -> bool:
        """Return whether an agent is in the queue."""
        return bool(json.loads(self.dibs("status", "--json").stdout)["queue"])

    def ledger(self) -> list[dict[str, Any]]:
        """Return all ledger entries."""
        return json.loads(self.dibs("log", "--json", "-n", "10000").stdout)

    def agents(self) -> dict[str, dict[str, Any]]:
        """Return all agents, including those that have left."""
        roster = json.loads(self.dibs("agent", "ls", "--all", "--json").stdout)
        return {one["id"]: one for one in roster["agents"]}

    @contextlib.contextmanager
    def agent(
        self,
        kind: Kind,
        script: Script,
        *,
        home: Path | None = None,
        at: str = ".",
        start: Callable[[str], list[str]] | None = None,
        ready: Callable[[Path], None] | None = None,
    ) -> Iterator[Run]:
        """Start an agent with its own model; stop it at the end of the block.

        It starts in the folder ``at``, with the command ``start`` and after ``ready``, which gets its home.
        """
        self._homes += 1
        home = home or self.folder / f"home{self._homes}"
        home.mkdir(exist_ok=True)
        output = self.folder / f"{kind.name}{self._homes}.out"
        with Model(script) as model, output.open("wb") as told:
            self.profile(home)
            kind.prepare(home, self.repo, model.url)
            if ready is not None:
                ready(home)
            process = subprocess.Popen(
                (start or kind.command)("Do the work that is to be done."),
                cwd=self.repo / at,
                env=self.environ(home) | kind.environ(home, model.url),
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            run = Run(kind, model, process, output)
            self.runs.append(run)
            try:
                yield run
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def environ(self, home: Path) -> dict[str, str]:
        """Return the environment of a user with ``home``, without the caller's variables."""
        proxy = os.environ.get("DIBS_E2E_PROXY", "")
        away = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": "127.0.0.1"} if proxy else {}
        return away | {
            "HOME": str(home),
            "PATH": f"{HERE}:{BINARIES}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def _run(
        self, *command: str, environ: dict[str, str] | None = None, token: str = ""
    ) -> subprocess.CompletedProcess[str]:
        env = (environ or self.environ(self.folder)) | ({"DIBS_TOKEN": token} if token else {})
        return subprocess.run(
            command, check=False, cwd=self.repo, env=env, capture_output=True, text=True, timeout=60
        )

    def profile(self, home: Path) -> None:
        """Write a profile with the PATH, for agents that start a login shell."""
        (home / ".profile").write_text(f'export PATH="{self.environ(home)["PATH"]}"\n')

    def _repository(self, settings: str) -> None:
        for path, text in FILES.items():
            (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "t")
        self.git("config", "user.email", "t@example.org")
        if settings:
            (self.repo / "dibs.toml").write_text(settings)
            self._submodule()
        self.git("add", "-A")
        self.git("commit", "-qm", "files")

    def _submodule(self) -> None:
        """Add the submodule ``lib`` with one file."""
        library = self.folder / "library"
        library.mkdir()
        (library / "m.py").write_text("m = 0\n")
        self.git("init", "-q", "-b", "main", str(library))
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        self.git("-C", str(library), "add", "m.py")
        self.git("-C", str(library), *who, "commit", "-qm", "library")
        self.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib"
        )


def until(true: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until ``true`` returns true; return whether it did."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


__all__ = ["KINDS", "Run", "World", "until"]
