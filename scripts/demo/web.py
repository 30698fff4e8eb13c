"""Serve the dashboard for the demo: its own server, with its own files and a free port."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from machines import DIBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from machines import Machine

PORTS = range(21000, 30000)
#: Seconds after which a link is replaced; it is valid for a minute.
FRESH = 40.0
READY = 20.0


class Dashboard:
    """The address of the dashboard, or why there is none."""

    def __init__(self, machine: Machine | None, missing: str = "") -> None:
        self._machine = machine
        self.missing = missing
        self._link = ""
        self._made = -FRESH
        self._lock = threading.Lock()

    def link(self, *, new: bool = False) -> str:
        """Return a link that signs one browser in; empty if there is no dashboard."""
        with self._lock:
            if self._machine and (new or time.monotonic() - self._made > FRESH):
                answer = self._machine.dibs("token", "login", "--json")
                self._link = answer.json["url"] if answer.status == 0 else ""
                self._made = time.monotonic()
            return self._link

    def line(self) -> str:
        """Return the line that says where the dashboard is, or why there is none."""
        if link := self.link(new=True):
            return f"watch it in a browser (the link works once, within a minute):\n  {link}"
        return f"no dashboard: {self.missing or 'its server does not answer'}"


@contextlib.contextmanager
def serve(machine: Machine, folder: Path) -> Iterator[Dashboard]:
    """Run a server for ``machine``'s repository; ``folder`` is removed if the demo is killed."""
    if missing := _missing():
        yield Dashboard(None, missing)
        return
    # A socket's path must be short, and the system's folder for temporary files may not be.
    with tempfile.TemporaryDirectory(prefix="dibs-demo-", dir="/tmp") as run:
        machine.variables["XDG_RUNTIME_DIR"] = run
        keeper = _start(machine, [str(folder), run])
        try:
            said = _first_line(keeper)
            yield Dashboard(machine) if said.get("running") else Dashboard(None, _why(said))
        finally:
            keeper.communicate("the demo removes its files\n")


def _start(machine: Machine, folders: list[str]) -> subprocess.Popen[str]:
    """Start the server below a process that stops it when the demo ends."""
    command = [sys.executable, str(Path(__file__).with_name("keeper.py")), *folders, "--"]
    command += [DIBS, "serve", "--json", "--port", str(_free_port())]
    return subprocess.Popen(
        command, cwd=machine.tree, env=machine.environment(), text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _missing() -> str:
    """Return what this installation lacks, if anything."""
    from dibs.dashboard import is_built

    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn", "msgspec")):
        return "the extra `server` is not installed (run: make demo)"
    return "" if is_built() else "its pages are not built (run: make demo)"


def _first_line(keeper: subprocess.Popen[str]) -> dict[str, object]:
    """Return what the server prints when it listens, or its error."""
    lines: list[str] = []
    assert keeper.stdout is not None
    reading = threading.Thread(target=lambda: lines.append(keeper.stdout.readline()), daemon=True)  # type: ignore[union-attr]
    reading.start()
    reading.join(READY)
    return dict(json.loads(lines[0])) if lines and lines[0].strip() else {}


def _why(said: dict[str, object]) -> str:
    error = said.get("error")
    return str(error["message"]) if isinstance(error, dict) else "its server does not start"


def _free_port() -> int:
    """Return a port below those that the system gives to clients."""
    for port in random.sample(PORTS, 100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    return 0
