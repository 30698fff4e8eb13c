"""The crew: a sample repository, and agents that are real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

#: The command that this Python's environment has: what a user runs.
DIBS = str(Path(sys.executable).parent / "dibs")
PATIENCE = 60.0

FILES = (
    "src/auth/login.py",
    "src/auth/session.py",
    "src/api/routes.py",
    "src/web/page.ts",
    "docs/api.md",
)


class DemoError(Exception):
    """Something did not happen as it must."""


class Answer(NamedTuple):
    """What one command said, and when it had ended."""

    words: tuple[str, ...]
    status: int
    out: str
    err: str
    at: float

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What it printed, line by line."""
        return (self.out + self.err).splitlines()


def environment(agent: str = "") -> dict[str, str]:
    """Return an environment in which nothing of the user's own settings changes the demo."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}
    kept |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1"}
    return {**kept, "DIBS_AGENT": agent} if agent else kept


def make_repository(folder: Path) -> tuple[Path, Path]:
    """Make a git repository with two working trees; return both."""
    main, hotfix = folder / "shop", folder / "shop-hotfix"
    for name in FILES:
        path = main / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", "utf-8")
    author = ["-c", "user.name=Demo", "-c", "user.email=demo@example.com"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*author, "commit", "-qm", "Begin"],
        ["worktree", "add", "-q", "-b", "hotfix", str(hotfix)],
    ):
        git = ["git", "-C", str(main), *command]
        subprocess.run(git, check=True, env=environment(), capture_output=True)
    return main, hotfix


def run_dibs(tree: Path, *words: str) -> Answer:
    """Run a command as the human who watches."""
    done = subprocess.run(
        [DIBS, *words],
        check=False,
        cwd=tree,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return Answer(words, done.returncode, done.stdout, done.stderr, time.monotonic())


class Agent:
    """A scripted agent in its own process group, so that it can be killed and stopped whole."""

    def __init__(self, name: str, tree: Path) -> None:
        self.name = name
        self._number = 0
        self._pending: dict[int, tuple[tuple[str, ...], Future[Answer]]] = {}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("agent.py")), DIBS],
            cwd=tree,
            env=environment(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, *words: str) -> Future[Answer]:
        """Let the agent run a command; the answer comes later."""
        self._number += 1
        future: Future[Answer] = Future()
        self._pending[self._number] = (words, future)
        self._tell({"id": self._number, "words": words})
        return future

    def run(self, *words: str) -> Answer:
        """Let the agent run a command, and wait for its answer."""
        return self.start(*words).result(PATIENCE)

    def beat(self, every: float | None) -> None:
        """Let the agent give a sign of life so often while it has nothing else to do."""
        self._tell({"beat": every})

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the agent and to the command that it runs."""
        os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Kill what is left."""
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self._process.wait(PATIENCE)

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            words, future = self._pending.pop(told["id"])
            answer = Answer(words, told["status"], told["out"], told["err"], time.monotonic())
            future.set_result(answer)
        for _, future in self._pending.values():
            future.set_exception(DemoError(f"{self.name} is gone"))
