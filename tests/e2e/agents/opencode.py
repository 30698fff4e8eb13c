"""opencode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind, write_json
from tests.e2e.model import Call

if TYPE_CHECKING:
    from pathlib import Path

#: What opencode gets from npm for those who write plugins; ours needs nothing of it.
PLUGIN = {"dependencies": {"@opencode-ai/plugin": "*"}}


def _have_plugin(place: Path) -> None:
    """Let it look as if that were there: without a network opencode would try for a minute."""
    (place / "node_modules").mkdir(parents=True, exist_ok=True)
    write_json(place / "package.json", PLUGIN)
    write_json(place / "package-lock.json", {"lockfileVersion": 3, "packages": {"": PLUGIN}})


class Opencode(Kind):
    """opencode without a terminal."""

    name = "opencode"
    title = "opencode"
    package = "opencode-ai"

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Name the model in the user's own configuration."""
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
        """Return what keeps it from asking the network."""
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def command(self, prompt: str) -> list[str]:
        """Return a run that asks nobody."""
        return [str(self.binary), "run", "--format", "json", prompt]

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after what it needs."""
        where = {"filePath": str(repo / path)}
        edit = where | {"oldString": old, "newString": new}
        return [Call("read", where), Call("edit", edit, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a write."""
        return Call("write", {"filePath": str(repo / path), "content": text}, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a bash."""
        return Call("bash", {"command": command, "description": "run it"}, **gates)

    def mcp(self, tool: str, given: dict[str, Any], **gates: Any) -> Call:
        """Return a call by the name that opencode gives it."""
        return Call(f"dibs_{tool}", given, **gates)

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return a task."""
        task = {"description": "help", "prompt": f"{word}: do it", "subagent_type": "general"}
        return Call("task", task, **gates)
