"""Codex CLI."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.e2e.agents.base import Kind
from tests.e2e.model import Call

if TYPE_CHECKING:
    from pathlib import Path

_CONFIG = """\
model = "gpt-5.5"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"

[projects."{repo}"]
trust_level = "trusted"

# The repository of a test is in /tmp, and a user's is not.
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"""


class Codex(Kind):
    """Codex without a terminal."""

    name = "codex"
    title = "Codex CLI"
    package = "@openai/codex"
    has_commands = False

    def prepare(self, home: Path, repo: Path, url: str) -> None:
        """Configure the model, and trust the project as a user does when asked."""
        (home / ".codex").mkdir(parents=True, exist_ok=True)
        (home / ".codex" / "config.toml").write_text(_CONFIG.format(url=url, repo=repo))

    def trust(self, repo: Path, environ: dict[str, str]) -> None:
        """Store the hashes of the hooks, as the command ``/hooks`` does; it needs a terminal."""
        command = [str(self.binary), "app-server"]
        with subprocess.Popen(
            command, cwd=repo, env=environ, text=True, stderr=subprocess.DEVNULL,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as server:  # fmt: skip
            assert server.stdin is not None
            assert server.stdout is not None

            def call(method: str, params: dict[str, Any]) -> Any:
                print(
                    json.dumps({"id": method, "method": method, "params": params}),
                    file=server.stdin,
                    flush=True,
                )
                answers = map(json.loads, server.stdout)
                return next(answer["result"] for answer in answers if answer.get("id") == method)

            call("initialize", {"clientInfo": {"name": "test", "version": "1"}})
            print(json.dumps({"method": "initialized"}), file=server.stdin, flush=True)
            (found,) = call("hooks/list", {"cwds": [str(repo)]})["data"]
            trusted = {
                hook["key"]: {"trusted_hash": hook["currentHash"], "enabled": True}
                for hook in found["hooks"]
            }
            edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
            call("config/batchWrite", {"edits": [edit]})
            server.stdin.close()

    def environ(self, home: Path, url: str) -> dict[str, str]:
        """Return the key, and the home."""
        (home / "tmp").mkdir(
            exist_ok=True
        )  # Codex has no sandbox if its home is a temporary folder
        places = {"CODEX_HOME": str(home / ".codex"), "TMPDIR": str(home / "tmp")}
        return {"STUB_KEY": "dummy"} | places

    def command(self, prompt: str) -> list[str]:
        """Return a non-interactive run whose user has trusted the hooks."""
        alone = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        return [str(self.binary), "exec", "--json", *alone, prompt]

    def ordinary(self, prompt: str) -> list[str]:
        """Return a run in the sandbox, with the hooks that its user has accepted."""
        return [str(self.binary), "exec", "--json", "--sandbox", "workspace-write", prompt]

    def resumed(self, prompt: str) -> list[str]:
        """Return a run with the last session."""
        start, resume = self.command(prompt), ["resume", "--last"]
        return [*start[:-1], *resume, prompt]

    def add_server(self, home: Path, argv: list[str]) -> None:
        """Add the server for all projects."""
        entry = f"command = {json.dumps(argv[0])}\nargs = {json.dumps(argv[1:])}\n"
        with (home / ".codex" / "config.toml").open("a") as file:
            file.write(f"\n[mcp_servers.notes]\n{entry}")

    def read(self, repo: Path, path: str, **gates: Any) -> Call:
        """Return a shell command: there is no tool for it."""
        return self.shell(f"sed -n 1,20p {path}", **gates)

    def change(self, repo: Path, path: str, old: str, new: str, **gates: Any) -> list[Call]:
        """Return an edit, after the calls that it requires."""
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        return [Call("apply_patch", patch, custom=True, **gates)]

    def create(self, repo: Path, path: str, text: str, **gates: Any) -> Call:
        """Return a patch that adds or overwrites the file."""
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        return Call("apply_patch", patch, custom=True, **gates)

    def shell(self, command: str, **gates: Any) -> Call:
        """Return a shell command."""
        return Call("exec_command", {"cmd": command, "yield_time_ms": 60000}, **gates)

    def mcp(self, tool: str, given: dict[str, Any], server: str = "dibs", **gates: Any) -> Call:
        """Return a call in Codex's namespace for the server."""
        return Call(tool, given, namespace=f"mcp__{server}", **gates)

    def nested(self, call: Call, **gates: Any) -> Call:
        """Return a program in JavaScript ("code mode")."""
        program = f"text(JSON.stringify(await tools.{call.tool}({json.dumps(call.input)})));"
        return Call("exec", program, custom=True, **gates)

    def nest(self, home: Path) -> None:
        """Choose a model that has no other tool."""
        config = home / ".codex" / "config.toml"
        config.write_text(config.read_text().replace("gpt-5.5", "gpt-6-sol"))

    def subagent(self, word: str, **gates: Any) -> Call:
        """Return a spawn_agent."""
        return Call(
            "spawn_agent", {"message": f"{word}: do it"}, namespace="multi_agent_v1", **gates
        )
