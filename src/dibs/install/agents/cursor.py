"""Cursor."""

from __future__ import annotations

from dibs.install.agents.base import (
    PATIENCE,
    SHORT_PATIENCE,
    Agent,
    Wish,
    instructions,
    is_before,
    plain_server,
)
from dibs.install.entries.pieces import Default, Hooks, Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_TOOLS = ("preToolUse", "postToolUse", "postToolUseFailure")
_EVENTS = (
    *("sessionStart", "beforeSubmitPrompt", "subagentStart", "subagentStop"),
    *("stop", "sessionEnd"),
)


def _cursor(choice: Choice) -> list[Wish]:
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
        Wish(path, Default(("version",), 1), "hooks", local=local),
        Wish(path, Hooks(groups), "hooks", local=local),
    ]
    if choice.servers:
        server = Server(("mcpServers", "dibs"), plain_server(choice))
        wishes.append(Wish(".cursor/mcp.json", server, "MCP server", local=local))
    return [*wishes, *instructions(choice, "AGENTS.md")]


CURSOR = Agent(
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
