"""Which agents are told of the MCP server of Dibs, and by which command they start it."""

from __future__ import annotations

import os

from dibs.install.agents.table import AGENTS
from dibs.install.inspect.hooks import read_settings, user_places
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "dibs"


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
    agent = AGENTS[name]
    settings = agent.server
    if settings is None:
        return []
    files = [os.path.join(root, path) for path in settings.files]
    files += user_places(agent, settings.user_files, home, environ)
    found = []
    for file in files:
        try:
            there = read_settings(file)
        except (OSError, ValueError, RecursionError):
            continue
        table = there.get(settings.key) if isinstance(there, dict) else None
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
