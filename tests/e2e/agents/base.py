"""What the tests ask of an agent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.model import Say

if TYPE_CHECKING:
    from tests.e2e.model import Call

ROOT = Path(__file__).resolve().parents[3]
#: Where npm has put the agents: ``scripts/e2e.py`` does that.
FOLDER = Path(os.environ.get("DIBS_E2E_BIN") or ROOT / ".e2e")
#: Where a download of hundreds of megabytes is kept out of the way of the tests.
BINARIES = FOLDER / "node_modules" / ".bin"


class Kind:
    """An agent of one maker."""

    #: As ``dibs hook`` and ``dibs init`` call it.
    name: str
    title: str
    #: Its package at npm.
    package: str

    @property
    def binary(self) -> Path:
        """The program."""
        return BINARIES / self.name

    @property
    def version(self) -> str:
        """The version that is installed; empty if none is."""
        about = FOLDER / "node_modules" / self.package / "package.json"
        return (
            json.loads(about.read_text())["version"]
            if about.exists() and self.binary.exists()
            else ""
        )

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Write what its user has in the home: the address of the model, and what is trusted."""

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the variables that this agent needs beside ``HOME``."""
        return {}

    def command(self, prompt: str) -> list[str]:
        """Return the command that gives the agent ``prompt`` to do, and ends with its turn."""
        raise NotImplementedError

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return the calls that put ``new`` in the place of ``old``; the last one is the edit."""
        raise NotImplementedError

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return the call that writes a new file."""
        raise NotImplementedError

    def shell(self, command: str, **gates: Any) -> Call:
        """Return the call that runs ``command``."""
        raise NotImplementedError

    def mcp(self, tool: str, given: dict[str, Any], **gates: Any) -> Call:
        """Return the call of a tool of our server."""
        raise NotImplementedError

    def subagent(self, word: str, **gates: Any) -> Call | None:
        """Return the call that starts a subagent with ``word`` in its task; ``None`` if it has none."""
        return None

    def finish(self, **gates: Any) -> list[Call | Say]:
        """Return how a subagent ends its task."""
        return [Say(**gates)]


def write_json(path: Path, value: Any) -> None:
    """Write ``value``, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))
