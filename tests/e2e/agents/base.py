"""The interface of an agent under test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.model import Say

if TYPE_CHECKING:
    from tests.e2e.model import Call

ROOT = Path(__file__).resolve().parents[3]
#: Where ``scripts/e2e.py`` installed the agents.
FOLDER = Path(os.environ.get("DIBS_E2E_BIN") or ROOT / ".e2e")
#: A folder for large downloads, outside of the tests.
BINARIES = FOLDER / "node_modules" / ".bin"


class Kind:
    """One kind of agent."""

    #: Its name in ``dibs hook`` and ``dibs init``.
    name: str
    title: str
    #: Its npm package.
    package: str
    #: The model that a crew's role names; empty if the user's settings do.
    model = ""
    #: Whether its shell can run ``dibs`` as the crew starts it; its own sandbox may prevent that.
    has_commands = True

    @property
    def binary(self) -> Path:
        """The program."""
        return BINARIES / self.name

    @property
    def version(self) -> str:
        """The installed version; empty if it is not installed."""
        about = FOLDER / "node_modules" / self.package / "package.json"
        return (
            json.loads(about.read_text())["version"]
            if about.exists() and self.binary.exists()
            else ""
        )

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Write the user's settings: the model's URL, and what is trusted."""

    def trust(self, repo: Path, environ: dict[str, str]) -> None:
        """Trust the repository's hooks as a user does who is asked, if ``prepare`` does not."""

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the environment variables that this agent needs in addition to ``HOME``."""
        return {}

    def command(self, prompt: str) -> list[str]:
        """Return the command that runs one turn with ``prompt``."""
        raise NotImplementedError

    def ordinary(self, prompt: str) -> list[str]:
        """Return a run with the agent's own sandbox, and with approvals that its user gave one by one."""
        raise NotImplementedError

    def trusting(self, prompt: str) -> list[str]:
        """Return a run that relies on the trust which its user gave earlier."""
        return self.command(prompt)

    def resumed(self, prompt: str) -> list[str]:
        """Return the command that continues the last session."""
        raise NotImplementedError

    def allow(self, home: Path, repo: Path) -> None:
        """Trust the folder and allow edits, as a user does who is asked."""

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the MCP server ``notes`` to the user's settings."""
        raise NotImplementedError

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return the call that reads a file."""
        raise NotImplementedError

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return the calls that replace ``old`` by ``new``; the last one is the edit."""
        raise NotImplementedError

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return the call that writes a new file."""
        raise NotImplementedError

    def shell(self, command: str, **gates: Any) -> Call:
        """Return the call that runs ``command``."""
        raise NotImplementedError

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return the call to an MCP tool."""
        raise NotImplementedError

    def nested(self, call: Call, **gates: Any) -> Call | None:
        """Return the call of a program that calls a tool; None if the agent runs no such programs."""
        return None

    def nest(self, home: Path) -> None:
        """Choose a model that calls tools in this way."""

    def subagent(self, word: str, **gates: Any) -> Call | None:
        """Return the call that starts a subagent with ``word`` in its task; None if unsupported."""
        return None

    def finish(self, **gates: Any) -> list[Call | Say]:
        """Return the step that ends a subagent's task."""
        return [Say(**gates)]


def add_json(path: Path, *keys: str, value: Any) -> None:
    """Set a value in a file of settings, which may not exist yet."""
    lines = path.read_text().splitlines() if path.exists() else ["{}"]
    whole = inner = json.loads("".join(line for line in lines if not line.startswith("//")))
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    inner[keys[-1]] = value
    write_json(path, whole)


def write_json(path: Path, value: Any) -> None:
    """Write ``value``, and create its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))
