"""Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind, add_json, write_json
from tests.e2e.model import Call

if TYPE_CHECKING:
    from pathlib import Path


class Claude(Kind):
    """Claude Code without a terminal."""

    name = "claude"
    title = "Claude Code"
    package = "@anthropic-ai/claude-code"

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Approve the project's MCP servers, as a user does when asked."""
        write_json(home / ".claude" / "settings.json", {"enableAllProjectMcpServers": True})

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the URL, and the permission to run as root in a sandbox."""
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def command(self, prompt: str) -> list[str]:
        """Return a non-interactive run."""
        loud = ["--output-format", "stream-json", "--verbose"]
        return [str(self.binary), "-p", prompt, "--permission-mode", "bypassPermissions", *loud]

    def ordinary(self, prompt: str) -> list[str]:
        """Return a run in the default mode."""
        loud = ["--output-format", "stream-json", "--verbose"]
        return [str(self.binary), "-p", prompt, "--permission-mode", "default", *loud]

    def resumed(self, prompt: str) -> list[str]:
        """Return a run with the last session."""
        return [*self.command(prompt), "--continue"]

    def allow(self, home: Path, repo: Path) -> None:
        """Allow edits."""
        rules = ["Edit", "Write"]
        add_json(home / ".claude" / "settings.json", "permissions", "allow", value=rules)

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the server for all projects."""
        entry = {"command": argv[0], "args": argv[1:]}
        add_json(home / ".claude.json", "mcpServers", "notes", value=entry)

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return a Read."""
        return Call("Read", {"file_path": str(repo / path)}, **gates)

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after the calls that it requires."""
        where = {"file_path": str(repo / path)}
        edit = where | {"old_string": old, "new_string": new}
        return [Call("Read", where), Call("Edit", edit, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a Write."""
        return Call("Write", {"file_path": str(repo / path), "content": text}, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a Bash."""
        return Call("Bash", {"command": command, "description": "run it"}, **gates)

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return a call with Claude's name for the tool."""
        return Call(f"mcp__{server}__{tool}", given, **gates)

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return an Agent in the foreground."""
        task = {
            "description": "help",
            "prompt": f"{word}: do it",
            "subagent_type": "general-purpose",
        }
        return Call("Agent", task | {"run_in_background": False}, **gates)
