"""Copilot CLI. Its payloads do not name their event, so the command does."""

from __future__ import annotations

from dibs.install.agents.base import (
    PATIENCE,
    SHORT_PATIENCE,
    AgentInstaller,
    FileEdit,
    instructions,
    is_before,
    skill,
)
from dibs.install.agents.claude import server_file
from dibs.install.entries.pieces import Default, HookEntries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_TOOL_EVENTS = ("preToolUse", "postToolUse", "postToolUseFailure")
_EVENTS = (
    *("sessionStart", "userPromptSubmitted", "subagentStart", "subagentStop"),
    *("agentStop", "sessionEnd"),
)


def _copilot(choice: Choice) -> list[FileEdit]:
    groups = {}
    for event in (*_TOOL_EVENTS, *_EVENTS):
        command = choice.commands.hook("copilot", event, can_refuse=is_before(event))
        patience = PATIENCE if event in _TOOL_EVENTS else SHORT_PATIENCE
        groups[event] = ({"type": "command", "bash": command, "timeoutSec": patience},)
    path, local = ".github/hooks/dibs.json", not choice.shared
    return [
        FileEdit(path, Default(("version",), 1), "hooks", local=local),
        FileEdit(path, HookEntries(groups), "hooks", local=local),
        *server_file(choice),
        *instructions(choice, "AGENTS.md"),
        *skill(choice, ".github/skills"),
    ]


COPILOT = AgentInstaller(
    "copilot",
    "Copilot CLI",
    ("copilot",),
    (".copilot",),
    (".github/hooks", ".github/copilot-instructions.md"),
    _copilot,
    (
        "skips hooks silently until you trust the folder: start it here and say so; -p needs --trust-folder",
    ),
)
