"""Which agents are told of the MCP server of Dibs, and by which command they start it."""

from __future__ import annotations

import os

from dibs.install.inspect.hooks import AGENTS, read_settings
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "dibs"
#: For each agent: its files in a repository, those of its user, and the key of the table of servers.
_PLACES: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "claude": ((".mcp.json",), (), "mcpServers"),
    "codex": ((".codex/config.toml",), (".codex/config.toml",), "mcp_servers"),
    "gemini": ((".gemini/settings.json",), (".gemini/settings.json",), "mcpServers"),
    "copilot": ((), (".copilot/mcp-config.json",), "mcpServers"),
    "cursor": ((".cursor/mcp.json",), (".cursor/mcp.json",), "mcpServers"),
    "windsurf": ((), (".codeium/windsurf/mcp_config.json",), "mcpServers"),
    "opencode": (
        ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
        (".config/opencode/opencode.json",),
        "mcp",
    ),
    "vscode": ((".vscode/mcp.json",), (), "servers"),
}


class McpRegistration(Record):
    """One registration of the server."""

    agent: str
    file: str
    #: What starts it; empty where it is reached at an address.
    argv: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()
    url: str = ""


def servers_of(
    name: str, root: str, home: str, environ: Mapping[str, str]
) -> list[McpRegistration]:
    """Return where one agent is told of the server; a file that cannot be read tells nothing."""
    own, users, key = _PLACES.get(name, ((), (), ""))
    agent = AGENTS[name]
    moved = environ.get(agent.home_variable, "") if agent.home_variable else ""
    files = [os.path.join(root, path) for path in own]
    for path in users if home else ():
        inside = path.removeprefix(agent.home_folder + "/")
        files.append(os.path.join(moved, inside) if moved else os.path.join(home, path))
    found = []
    for file in files:
        try:
            settings = read_settings(file)
        except (OSError, ValueError, RecursionError):
            continue
        table = settings.get(key) if isinstance(settings, dict) else None
        entry = table.get(NAME) if isinstance(table, dict) else None
        if isinstance(entry, dict):
            found.append(_server(name, file, entry))
    return found


def _server(name: str, file: str, entry: dict[str, Any]) -> McpRegistration:
    command, more = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command] if command else []
    words = [*words, *(more if isinstance(more, list) else [])]
    given = entry.get("env") or entry.get("environment")
    pairs = given.items() if isinstance(given, dict) else ()
    url = entry.get("url") or entry.get("httpUrl")
    return McpRegistration(
        name,
        file,
        tuple(map(str, words)),
        tuple((str(key), str(value)) for key, value in pairs),
        url if isinstance(url, str) else "",
    )
