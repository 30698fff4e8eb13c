"""The demo's machines: each has a working tree, a home, and settings, and runs commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

#: The command that users run, from this Python's environment.
DIBS = str(Path(sys.executable).parent / "dibs")


class DemoError(Exception):
    """A step did not happen as it must."""


class Answer(NamedTuple):
    """The output and status of one command, and when it ended."""

    words: tuple[str, ...]
    status: int
    out: str
    err: str
    at: float

    @property
    def json(self) -> Any:
        """The output, parsed as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The output, line by line."""
        return (self.out + self.err).splitlines()


class Machine(NamedTuple):
    """A working tree and the environment variables of its commands."""

    name: str
    tree: Path
    variables: dict[str, str]

    def environment(self, agent: str = "") -> dict[str, str]:
        """Return the variables for commands of ``agent``, or of the human."""
        found = {**_clean(), **self.variables}
        return {**found, "DIBS_AGENT": agent} if agent else found

    def dibs(self, *words: str) -> Answer:
        """Run a command as the human."""
        done = subprocess.run(
            [DIBS, *words],
            check=False,
            cwd=self.tree,
            env=self.environment(),
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return Answer(words, done.returncode, done.stdout, done.stderr, time.monotonic())


def git(folder: Path, *words: str) -> str:
    """Run git in ``folder`` and return its output."""
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, check=False, env=_clean(), capture_output=True, text=True)
    if done.returncode:
        raise DemoError(f"git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _clean() -> dict[str, str]:
    """Return the environment without the user's own settings."""
    settings = ("DIBS_", "GIT_", "PG", "XDG_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(settings)}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1"}
