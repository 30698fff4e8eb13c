"""Gemini CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind, add_json, write_json
from tests.e2e.model import Call, Say

if TYPE_CHECKING:
    from pathlib import Path


class Gemini(Kind):
    """Gemini without a terminal."""

    name = "gemini"
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    model = "gemini-2.5-flash"

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Choose how to sign in."""
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        write_json(home / ".gemini" / "settings.json", auth)

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the URL, and trust the folder as a user does when asked."""
        address = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}
        return address | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt: str) -> list[str]:
        """Return a non-interactive run."""
        alone = ["--yolo", "-o", "stream-json"]
        return [str(self.binary), "-m", self.model, *alone, "-p", prompt]

    def ordinary(self, prompt: str) -> list[str]:
        """Return a run that may edit, in a folder that its user has trusted."""
        start = ["env", "-u", "GEMINI_CLI_TRUST_WORKSPACE", str(self.binary), "-m", self.model]
        return [*start, "--approval-mode", "auto_edit", "-o", "stream-json", "-p", prompt]

    def trusting(self, prompt: str) -> list[str]:
        """Return a run in a folder that its user has trusted."""
        return ["env", "-u", "GEMINI_CLI_TRUST_WORKSPACE", *self.command(prompt)]

    def resumed(self, prompt: str) -> list[str]:
        """Return a run with the last session."""
        return [*self.command(prompt), "--resume", "latest"]

    def allow(self, home: Path, repo: Path) -> None:
        """Trust the folder."""
        write_json(home / ".gemini" / "trustedFolders.json", {str(repo): "TRUST_FOLDER"})

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the server for all projects."""
        entry = {"command": argv[0], "args": argv[1:]}
        add_json(home / ".gemini" / "settings.json", "mcpServers", "notes", value=entry)

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return a read_file."""
        return Call("read_file", {"file_path": str(repo / path)}, **gates)

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after the calls that it requires."""
        edit = {"file_path": str(repo / path), "old_string": old, "new_string": new}
        return [Call("replace", edit | {"instruction": "do it"}, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a write_file."""
        return Call("write_file", {"file_path": str(repo / path), "content": text}, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a run_shell_command."""
        return Call("run_shell_command", {"command": command}, **gates)

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return a call with Gemini's name for the tool."""
        return Call(f"mcp_{server}_{tool}", given, **gates)

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return an invoke_agent call for the agent that has all tools."""
        return Call(
            "invoke_agent", {"agent_name": "generalist", "prompt": f"{word}: do it"}, **gates
        )

    def finish(self, **gates: Any) -> list[Call | Say]:
        """Return the call with which subagents must end."""
        return [Call("complete_task", {"result": {"response": "done"}}, **gates)]
