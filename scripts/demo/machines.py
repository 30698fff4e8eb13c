"""The machines of the demo: a working tree with a home and settings of its own, and what it is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

#: The command that this Python's environment has: what a user runs.
DIBS = str(Path(sys.executable).parent / "dibs")


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


class Machine(NamedTuple):
    """Where commands run: a working tree, and the variables that are set there."""

    name: str
    tree: Path
    variables: dict[str, str]

    def environment(self, agent: str = "") -> dict[str, str]:
        """Return the variables of a command of ``agent``, or of the human who watches."""
        found = {**_clean(), **self.variables}
        return {**found, "DIBS_AGENT": agent} if agent else found

    def dibs(self, *words: str) -> Answer:
        """Run a command as the human who watches."""
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
    """Run git in ``folder``; return what it printed."""
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, check=False, env=_clean(), capture_output=True, text=True)
    if done.returncode:
        raise DemoError(f"git {words[0]} said {done.stderr.strip()}")
    return done.stdout


def _clean() -> dict[str, str]:
    """Return an environment in which nothing of the user's own settings changes the demo."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_", "XDG_"))}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1"}
