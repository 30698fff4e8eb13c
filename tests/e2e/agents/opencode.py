"""opencode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind, add_json, write_json
from tests.e2e.model import Call

if TYPE_CHECKING:
    from pathlib import Path

#: A package that opencode installs from npm for plugins; ours does not need it.
PLUGIN = {"dependencies": {"@opencode-ai/plugin": "*"}}


def _have_plugin(place: Path) -> None:
    """Fake the package, because without a network opencode would retry for a minute."""
    (place / "node_modules").mkdir(parents=True, exist_ok=True)
    (place / "node_modules" / ".keep").touch()  # git keeps no empty folder for worktrees
    write_json(place / "package.json", PLUGIN)
    write_json(place / "package-lock.json", {"lockfileVersion": 3, "packages": {"": PLUGIN}})


class Opencode(Kind):
    """opencode without a terminal."""

    name = "opencode"
    title = "opencode"
    package = "opencode-ai"

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Configure the model in the user's settings."""
        model = {"name": "stub", "tool_call": True, "limit": {"context": 100000, "output": 8000}}
        options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": options,
            "models": {"stub": model},
        }
        given = {"model": "stub/stub", "small_model": "stub/stub", "provider": {"stub": provider}}
        given |= {"autoupdate": False, "share": "disabled"}
        write_json(home / ".config" / "opencode" / "opencode.json", given)
        for place in (home / ".config" / "opencode", repo / ".opencode"):
            _have_plugin(place)

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return variables that prevent network access."""
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def command(self, prompt: str) -> list[str]:
        """Return a non-interactive run."""
        return [str(self.binary), "run", "--format", "json", prompt]

    def ordinary(self, prompt: str) -> list[str]:
        """Return the same run: by default it may edit."""
        return self.command(prompt)

    def resumed(self, prompt: str) -> list[str]:
        """Return a run with the last session."""
        return [*self.command(prompt), "--continue"]

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the server for all projects."""
        entry = {"type": "local", "command": argv, "enabled": True}
        add_json(home / ".config" / "opencode" / "opencode.json", "mcp", "notes", value=entry)

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return a read."""
        return Call("read", {"filePath": str(repo / path)}, **gates)

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after the calls that it requires."""
        where = {"filePath": str(repo / path)}
        edit = where | {"oldString": old, "newString": new}
        return [Call("read", where), Call("edit", edit, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a write."""
        return Call("write", {"filePath": str(repo / path), "content": text}, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a bash."""
        return Call("bash", {"command": command, "description": "run it"}, **gates)

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return a call with opencode's name for the tool."""
        return Call(f"{server}_{tool}", given, **gates)

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return a task."""
        task = {"description": "help", "prompt": f"{word}: do it", "subagent_type": "general"}
        return Call("task", task, **gates)
