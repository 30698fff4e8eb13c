"""Copilot CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind, add_json
from tests.e2e.model import Call

if TYPE_CHECKING:
    from pathlib import Path


class Copilot(Kind):
    """Copilot without a terminal and without a login."""

    name = "copilot"
    title = "Copilot CLI"
    package = "@github/copilot"

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the URL."""
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "claude-sonnet-4",
            "COPILOT_OFFLINE": "true",
            "COPILOT_HOME": str(home / ".copilot"),
        }

    def command(self, prompt: str) -> list[str]:
        """Return a non-interactive run in a trusted folder."""
        alone = ["--allow-all-tools", "--trust-folder", "--output-format", "json"]
        return [str(self.binary), "-p", prompt, *alone]

    def ordinary(self, prompt: str) -> list[str]:
        """Return a run that may edit, in a folder that its user has trusted."""
        return [str(self.binary), "-p", prompt, "--allow-tool", "write", "--output-format", "json"]

    def trusting(self, prompt: str) -> list[str]:
        """Return a run in a folder that its user has trusted, not only for this session."""
        return [str(self.binary), "-p", prompt, "--allow-all-tools", "--output-format", "json"]

    def resumed(self, prompt: str) -> list[str]:
        """Return a run with the last session."""
        return [*self.trusting(prompt), "--continue"]

    def allow(self, home: Path, repo: Path) -> None:
        """Trust the folder."""
        add_json(home / ".copilot" / "config.json", "trusted_folders", value=[str(repo)])

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the server for all projects."""
        entry = {"type": "local", "command": argv[0], "args": argv[1:], "tools": ["*"]}
        add_json(home / ".copilot" / "mcp-config.json", "mcpServers", "notes", value=entry)

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return a view."""
        return Call("view", {"path": str(repo / path)}, **gates)

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after the calls that it requires."""
        return [Call("edit", {"path": str(repo / path), "old_str": old, "new_str": new}, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a create."""
        return Call("create", {"path": str(repo / path), "file_text": text}, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a bash."""
        given = {"command": command, "description": "run it", "mode": "sync", "initial_wait": 90}
        return Call("bash", given, **gates)

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return a call with Copilot's name for the tool."""
        return Call(f"{server}-{tool}", given, **gates)

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return a task in the foreground."""
        task = {"name": "helper", "description": "help", "prompt": f"{word}: do it", "mode": "sync"}
        return Call("task", task | {"agent_type": "general-purpose"}, **gates)
