"""Gemini CLI. Its times are in milliseconds."""

from __future__ import annotations

from dibs.install.agents.base import (
    PATIENCE,
    SHORT_PATIENCE,
    AgentInstaller,
    FileEdit,
    claude_groups,
    instructions,
    plain_server,
    skill,
)
from dibs.install.entries.json_scan import HOOK_STYLES
from dibs.install.entries.pieces import HookEntries, McpEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_WRITERS = "write_file|replace|run_shell_command|mcp_.*"
_READERS = "read_file|read_many_files|glob|search_file_content|list_directory"
_STYLE = HOOK_STYLES["gemini"]


def _gemini(choice: Choice) -> list[FileEdit]:
    tools = f"^({_WRITERS}|{_READERS})$" if choice.reads else f"^({_WRITERS})$"
    long = {"name": "dibs", "timeout": PATIENCE * 1000}
    short = {"name": "dibs", "timeout": SHORT_PATIENCE * 1000}
    groups = claude_groups(
        choice,
        "gemini",
        (
            ("BeforeTool", tools, long),
            ("AfterTool", tools, long),
            ("SessionStart", "", short),
            ("BeforeAgent", "", short),
            ("AfterAgent", "", short),
            ("SessionEnd", "", short),
        ),
    )
    local = not choice.shared
    wishes = [FileEdit(".gemini/settings.json", HookEntries(groups, _STYLE), "hooks", local=local)]
    if choice.servers:
        entry = plain_server(choice, timeout=PATIENCE * 1000)
        server = McpEntry(("mcpServers", "dibs"), entry, _STYLE)
        wishes.append(FileEdit(".gemini/settings.json", server, "MCP server", local=local))
    return [*wishes, *instructions(choice, "GEMINI.md"), *skill(choice, ".gemini/skills")]


GEMINI = AgentInstaller(
    "gemini",
    "Gemini CLI",
    ("gemini",),
    (".gemini",),
    (".gemini", "GEMINI.md"),
    _gemini,
    (
        "runs in a trusted folder only: start it here and trust the folder; it warns of new hooks once",
    ),
)
