"""Claude Code, and VS Code, whose agent reads the same file of hooks."""

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
from dibs.install.entries.json_scan import ANY, HOOK_STYLES
from dibs.install.entries.pieces import HookEntries, McpEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

_WRITERS = "Write|Edit|MultiEdit|NotebookEdit|Bash|PowerShell|mcp__.*"
_READERS = "Read|Grep|Glob"


def hooks(choice: Choice, agent: str = "claude") -> HookEntries:
    """Return the handlers of all events that tell us something."""
    tools = f"^({_WRITERS}|{_READERS})$" if choice.reads else f"^({_WRITERS})$"
    short = {"timeout": SHORT_PATIENCE}
    return HookEntries(
        claude_groups(
            choice,
            agent,
            (
                ("PreToolUse", tools, {"timeout": PATIENCE, "onFailure": "block"}),
                ("PostToolUse", tools, {"timeout": PATIENCE}),
                ("PostToolUseFailure", tools, {"timeout": PATIENCE}),
                ("SessionStart", "", short),
                ("UserPromptSubmit", "", short),
                ("SubagentStart", "", short),
                ("SubagentStop", "", short),
                ("Stop", "", short),
                ("SessionEnd", "", short),
            ),
        ),
        HOOK_STYLES["claude"],
    )


def _settings(choice: Choice) -> FileEdit:
    name = "settings.json" if choice.shared else "settings.local.json"
    return FileEdit(f".claude/{name}", hooks(choice), "hooks", local=not choice.shared)


def server_file(choice: Choice) -> list[FileEdit]:
    """Return the registration of our server in the file that several agents read."""
    if not choice.servers:
        return []
    piece = McpEntry(("mcpServers", "dibs"), plain_server(choice))
    return [FileEdit(".mcp.json", piece, "MCP server", local=not choice.shared)]


def _claude(choice: Choice) -> list[FileEdit]:
    # Claude Code reads AGENTS.md by itself only where there is no CLAUDE.md, so none is made here.
    taken_in = "@AGENTS.md" in choice.lines("CLAUDE.md")
    page = "CLAUDE.md" if choice.has("CLAUDE.md") and not taken_in else "AGENTS.md"
    return [
        _settings(choice),
        *server_file(choice),
        *instructions(choice, page),
        *skill(choice, ".claude/skills"),
    ]


def _vscode(choice: Choice) -> list[FileEdit]:
    wishes = [_settings(choice), *instructions(choice, "AGENTS.md")]
    if choice.servers:
        piece = McpEntry(("servers", "dibs"), plain_server(choice, type="stdio"), ANY)
        wishes.append(FileEdit(".vscode/mcp.json", piece, "MCP server", local=not choice.shared))
    return wishes


CLAUDE = AgentInstaller(
    "claude",
    "Claude Code",
    ("claude",),
    (".claude",),
    (".claude", "CLAUDE.md"),
    _claude,
    ("asks once whether this folder and its MCP server `dibs` are to be trusted: say yes to both",),
)

VSCODE = AgentInstaller(
    "vscode",
    "VS Code",
    ("code", "code-insiders"),
    (),  # its folders are in every second home and repository, and say nothing of its agent
    (),
    _vscode,
    ("runs hooks in a trusted workspace only; start its MCP server `dibs` from .vscode/mcp.json",),
)
