"""Cursor."""

from __future__ import annotations

from dibs.install.agents.base import (
    PATIENCE,
    SHORT_PATIENCE,
    AgentInstaller,
    FileEdit,
    instructions,
    is_before,
    plain_server,
)
from dibs.install.entries.pieces import Default, HookEntries, McpEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_TOOLS = ("preToolUse", "postToolUse", "postToolUseFailure")
_EVENTS = (
    *("sessionStart", "beforeSubmitPrompt", "subagentStart", "subagentStop"),
    *("stop", "sessionEnd"),
)


def _cursor(choice: Choice) -> list[FileEdit]:
    groups = {}
    for event in (*_TOOLS, *_EVENTS):
        refuses = is_before(event)
        handler = {
            "command": choice.commands.hook("cursor", can_refuse=refuses),
            "timeout": PATIENCE if event in _TOOLS else SHORT_PATIENCE,
        }
        groups[event] = ({**handler, "failClosed": True} if refuses else handler,)
    path, local = ".cursor/hooks.json", not choice.shared
    wishes = [
        FileEdit(path, Default(("version",), 1), "hooks", local=local),
        FileEdit(path, HookEntries(groups), "hooks", local=local),
    ]
    if choice.servers:
        server = McpEntry(("mcpServers", "dibs"), plain_server(choice))
        wishes.append(FileEdit(".cursor/mcp.json", server, "MCP server", local=local))
    return [*wishes, *instructions(choice, "AGENTS.md")]


CURSOR = AgentInstaller(
    "cursor",
    "Cursor",
    ("cursor", "cursor-agent"),
    (".cursor",),
    (".cursor", ".cursorrules"),
    _cursor,
    (
        "runs project hooks in a trusted workspace only; switch the MCP server `dibs` on in its settings",
    ),
)
