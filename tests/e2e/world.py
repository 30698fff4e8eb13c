"""A repository with real agents in it: each with a home of its own, all wired by ``dibs init``."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e.agents import KINDS
from tests.e2e.agents.base import BINARIES
from tests.e2e.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.agents import Kind
    from tests.e2e.model import Script

FILES = {f"src/{name}.py": f"{name} = 0\n" for name in "abcde"}
#: Where the ``dibs`` is that is tested.
HERE = os.path.dirname(sys.executable)
#: How long one agent may take; the slowest needs a third of it.
LIMIT = 150


@dataclass
class Run:
    """An agent that works, or has."""

    kind: Kind
    model: Model
    process: subprocess.Popen[bytes]
    output: Path
    began: float = field(default_factory=time.monotonic)

    def wait(self) -> int:
        """Wait until it has ended, and return its status."""
        return self.process.wait(LIMIT)

    @property
    def seen(self) -> str:
        """All that its model was ever shown."""
        return "\n".join(asked.text for asked in self.model.asked)

    def result(self, label: str, word: str = "") -> str:
        """Return what the model saw as the answer to a step; without one, say what the agent printed."""
        result = self.model.result(label, word)
        assert result, f"no answer to {label!r}: {self.told()}"
        return result

    def told(self) -> str:
        """Return the end of what it printed."""
        return self.output.read_text(errors="replace")[-3000:]


class World:
    """A repository, and what is done in it."""

    def __init__(self, folder: Path, kinds: list[Kind], *, wired: bool = True) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        self.runs: list[Run] = []
        self._homes = 0
        self._repository()
        if wired:
            names = ",".join(dict.fromkeys(kind.name for kind in kinds))
            init = self.dibs("init", "--agents", names)
            assert init.returncode == 0, init.stdout + init.stderr

    def dibs(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the human who owns the repository."""
        return self._run("dibs", *words)

    def git(self, *words: str) -> str:
        """Run git as that human, and return what it says."""
        return self._run("git", *words).stdout.strip()

    def text(self, path: str) -> str:
        """Return what is in a file now."""
        return (self.repo / path).read_text()

    def claims(self) -> dict[str, str]:
        """Return who holds what."""
        status = json.loads(self.dibs("status", "--json").stdout)
        return {claim["pattern"]: claim["agent"] for claim in status["claims"]}

    def waiting(self) -> bool:
        """Tell whether somebody stands in a queue."""
        return bool(json.loads(self.dibs("status", "--json").stdout)["queue"])

    def ledger(self) -> list[dict[str, Any]]:
        """Return every entry of the ledger."""
        return json.loads(self.dibs("log", "--json", "-n", "10000").stdout)

    def agents(self) -> dict[str, dict[str, Any]]:
        """Return the roster, with those who have left."""
        roster = json.loads(self.dibs("agent", "ls", "--all", "--json").stdout)
        return {one["id"]: one for one in roster["agents"]}

    @contextlib.contextmanager
    def agent(self, kind: Kind, script: Script) -> Iterator[Run]:
        """Start an agent with a model of its own; at the end of the block it has ended, or is ended."""
        self._homes += 1
        home = self.folder / f"home{self._homes}"
        home.mkdir()
        output = self.folder / f"{kind.name}{self._homes}.out"
        with Model(script) as model, output.open("wb") as told:
            self._profile(home)
            kind.prepare(home, self.repo, model.url)
            process = subprocess.Popen(
                kind.command("Do the work that is to be done."),
                cwd=self.repo,
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
        """Return the variables of a user with ``home``: nothing of whoever runs the tests."""
        proxy = os.environ.get("DIBS_E2E_PROXY", "")
        away = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": "127.0.0.1"} if proxy else {}
        return away | {
            "HOME": str(home),
            "PATH": f"{HERE}:{BINARIES}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        env = self.environ(self.folder)
        return subprocess.run(
            command, check=False, cwd=self.repo, env=env, capture_output=True, text=True, timeout=60
        )

    def _profile(self, home: Path) -> None:
        """Say where programs are to who starts a login shell."""
        (home / ".profile").write_text(f'export PATH="{self.environ(home)["PATH"]}"\n')

    def _repository(self) -> None:
        for path, text in FILES.items():
            (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "t")
        self.git("config", "user.email", "t@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "files")


def until(true: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until ``true`` is; tell whether it came."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


__all__ = ["KINDS", "Run", "World", "until"]
