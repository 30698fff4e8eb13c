"""Windsurf. It has no way to tell its model anything but a refusal."""

from __future__ import annotations

from dibs.install.agents.base import AgentInstaller, FileEdit, instructions
from dibs.install.entries.pieces import HookEntries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_BEFORE = ("pre_write_code", "pre_run_command", "pre_mcp_tool_use")
_AFTER = ("post_write_code", "post_run_command", "post_mcp_tool_use")
_OTHERS = ("post_cascade_response",)


def _windsurf(choice: Choice) -> list[FileEdit]:
    groups = {}
    for event in (*_BEFORE, *_AFTER, *_OTHERS):
        command = choice.commands.hook("windsurf", can_refuse=event in _BEFORE)
        groups[event] = ({"command": command, "show_output": event in _BEFORE},)
    hooks = FileEdit(".windsurf/hooks.json", HookEntries(groups), "hooks", local=not choice.shared)
    return [hooks, *instructions(choice, "AGENTS.md")]


WINDSURF = AgentInstaller(
    "windsurf",
    "Windsurf",
    ("windsurf",),
    (".codeium/windsurf",),
    (".windsurf", ".windsurfrules"),
    _windsurf,
    ("keeps MCP servers for all projects: add `dibs` there yourself if you want its tools",),
)
