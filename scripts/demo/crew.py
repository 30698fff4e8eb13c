"""Start and control scripted agents, each a real process."""

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
from typing import TYPE_CHECKING, Any

from machines import DIBS, Answer, DemoError

if TYPE_CHECKING:
    from machines import Machine

PATIENCE = 60.0
#: Seconds that an agent has to stop.
GRACE = 5.0


class Agent:
    """A scripted agent in its own process group, so that signals reach its commands, too."""

    def __init__(self, name: str, machine: Machine) -> None:
        self.name = name
        self._number = 0
        self._pending: dict[int, tuple[tuple[str, ...], Future[Answer]]] = {}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("agent.py")), DIBS],
            cwd=machine.tree,
            env=machine.environment(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, *words: str, given: str = "") -> Future[Answer]:
        """Start a command, ``given`` on its standard input, and return a future for its result."""
        self._number += 1
        future: Future[Answer] = Future()
        self._pending[self._number] = (words, future)
        self._send({"id": self._number, "words": words, "input": given})
        return future

    def run(self, *words: str) -> Answer:
        """Run a command and return its result."""
        return self.start(*words).result(PATIENCE)

    def beat(self, every: float | None) -> None:
        """Send a heartbeat every ``every`` seconds while the agent is idle."""
        self._send({"beat": every})

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the agent and its current command."""
        os.killpg(self._process.pid, number)

    def dismiss(self) -> None:
        """Interrupt the current command; a command stops its own children."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGINT)

    def end(self) -> None:
        """Wait for the agent to stop, then kill what is left."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.signal(signal.SIGKILL)
        self._process.wait(PATIENCE)

    def _send(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            result = json.loads(line)
            words, future = self._pending.pop(result["id"])
            answer = Answer(words, result["status"], result["out"], result["err"], time.monotonic())
            future.set_result(answer)
        for _, future in self._pending.values():
            future.set_exception(DemoError(f"{self.name} stopped unexpectedly"))
