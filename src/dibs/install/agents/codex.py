"""Codex CLI."""

from __future__ import annotations

from dibs.install.agents.base import (
    PATIENCE,
    SHORT_PATIENCE,
    AgentInstaller,
    FileEdit,
    claude_groups,
    instructions,
    skill,
)
from dibs.install.entries.json_scan import HOOK_STYLES
from dibs.install.entries.pieces import HookEntries, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_TOOLS = "^(Bash|apply_patch|Edit|Write|mcp__.*)$"
#: Codex gives the end of a session no more.
_AT_THE_END = 3


def _codex(choice: Choice) -> list[FileEdit]:
    short = {"timeout": SHORT_PATIENCE}
    hooks = HookEntries(
        claude_groups(
            choice,
            "codex",
            (
                ("PreToolUse", _TOOLS, {"timeout": PATIENCE}),
                ("PostToolUse", _TOOLS, {"timeout": PATIENCE}),
                ("SessionStart", "", short),
                ("UserPromptSubmit", "", short),
                ("SubagentStart", "", short),
                ("SubagentStop", "", short),
                ("Stop", "", short),
                ("SessionEnd", "", {"timeout": _AT_THE_END}),
            ),
        ),
        HOOK_STYLES["codex"],
    )
    local = not choice.shared
    wishes = [FileEdit(".codex/hooks.json", hooks, "hooks", local=local)]
    if choice.servers:
        program, *arguments = choice.commands.server
        values = {"command": program, "args": arguments, "startup_timeout_sec": 20}
        table = Table(("mcp_servers", "dibs"), values)
        wishes.append(FileEdit(".codex/config.toml", table, "MCP server", local=local))
    return [*wishes, *instructions(choice, "AGENTS.md"), *skill(choice, ".agents/skills")]


CODEX = AgentInstaller(
    "codex",
    "Codex CLI",
    ("codex",),
    (".codex",),
    (".codex",),
    _codex,
    (
        "skips hooks silently until you trust them: start it here, trust the folder, and then its /hooks",
        "runs commands in a login shell: have dibs on the PATH that your profile sets, or use its MCP tools",
    ),
)
