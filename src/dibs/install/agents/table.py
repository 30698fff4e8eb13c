"""The coding agents that Dibs supports: how each is detected, and where it keeps hooks and MCP servers."""

from __future__ import annotations

from dibs.guard.dialects.tools import LOOK_TOOLS, READ_TOOLS, SHELL_TOOLS, WRITE_TOOLS
from dibs.install.entries.json_scan import ANY, Style
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The timeouts that agents apply to a hook, in seconds. Many agents allow the call when it is exceeded.
PATIENCE, SHORT_PATIENCE = 60, 10
_NONE: dict[str, Any] = {}


class HookSettings(Record):
    """Where and how one agent keeps hooks. User files are relative to the home folder."""

    #: The file that ``dibs init`` writes, and the one it writes with ``--shared``, if different.
    file: str = ""
    shared_file: str = ""
    #: Globs for all files that the agent reads.
    files: tuple[str, ...] = ()
    user_files: tuple[str, ...] = ()
    #: The user's file that ``dibs init --user`` writes: its hooks also run where the repository's do not.
    user_file: str = ""
    #: The events at which a write can be blocked.
    before: tuple[str, ...] = ("PreToolUse",)
    #: The tool events, the other events that we use, and timeouts that differ from the usual ones.
    tool_events: tuple[str, ...] = ()
    other_events: tuple[str, ...] = ()
    times: dict[str, int] = {}  # noqa: RUF012 - a record's default, never changed
    #: Regexes for the tools that write and read; empty if the agent has no matchers.
    writers: str = ""
    readers: str = ""
    #: Whether an event has groups of handlers, as in Claude Code, instead of handlers.
    grouped: bool = False
    #: The key of the command, and whether the command has to name its event because the payload does not.
    key: str = "command"
    names_event: bool = False
    #: The key of a handler's timeout, and its units per second.
    time_key: str = "timeout"
    per_second: int = 1
    #: Fields of a handler before the command, after it, and of a handler that can block.
    first: dict[str, Any] = _NONE
    more: dict[str, Any] = _NONE
    refusing: dict[str, Any] = _NONE
    #: The format version that the file has to name; 0 for none.
    version: int = 0
    #: The JSON extensions that the agent accepts, tested with the real program; None if untested.
    style: Style | None = None
    #: The setting that disables all hooks, and the value that does so.
    switch: tuple[str, ...] = ()
    off: bool = True


class ServerSettings(Record):
    """Where and how one agent keeps MCP servers."""

    #: The file that ``dibs init`` writes, and the key of its table of servers.
    file: str
    key: str = "mcpServers"
    #: The files that the agent reads.
    files: tuple[str, ...] = ()
    user_files: tuple[str, ...] = ()
    #: Whether the file belongs to another agent, and this one also reads it.
    lent: bool = False
    #: Fields of the entry besides the command.
    more: dict[str, Any] = _NONE
    style: Style = Style()
    #: What its user has to do before the agent starts the server.
    trust: tuple[str, ...] = ()


class AgentSettings(Record):
    """One coding agent."""

    name: str
    title: str
    #: Programs on the PATH, folders in the home folder, and files in the repository that indicate its use.
    programs: tuple[str, ...]
    homes: tuple[str, ...]
    signs: tuple[str, ...]
    hooks: HookSettings
    server: ServerSettings
    #: The file of instructions that it reads, and the folder of its skills.
    page: str = "AGENTS.md"
    skills: str = ""
    #: What its user has to do before our hooks run. Dibs never does it for them.
    trust: tuple[str, ...] = ()
    #: When it is not guarded after these steps, unless it has hooks in the user's file.
    unguarded: str = ""
    #: The agents whose hook files it reads instead of its own; init writes those of the first.
    borrows: tuple[str, ...] = ()
    #: The agents whose hook files it reads besides its own.
    reads_too: tuple[str, ...] = ()
    #: The variable that moves its user's files to another folder, and the folder it replaces.
    home_variable: str = ""
    home_folder: str = ""

    @property
    def lenders(self) -> tuple[str, ...]:
        """The agents whose hooks it runs, the preferred one first."""
        return self.borrows or (self.name, *self.reads_too)

    def steps(self, *, servers: bool, user: bool = False) -> tuple[str, ...]:
        """Return the remaining steps for its user.

        ``servers`` says whether MCP servers were added, and ``user`` whether its user's file has our hooks.
        """
        found = (*self.trust, *(self.server.trust if servers else ()))
        if user and self.hooks.user_file:
            return tuple(step for step in found if step not in self.trust)
        return (*found, self.gap) if self.gap else found

    @property
    def gap(self) -> str:
        """When it is not guarded, and the command that guards it; empty if it always is."""
        return f"{self.unguarded}: run `dibs init --user`" if self.unguarded else ""


def _tools(agent: str, *tables: dict[str, str], more: str = "") -> str:
    """Return a regex for an agent's tools in these tables, each once, and for ``more``."""
    names = dict.fromkeys(name for table in tables for name in table[agent].split())
    return "|".join((*names, *more.split()))


_TYPED = {"type": "command"}
_SESSION = (
    "SessionStart",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
)
_CAMEL_TOOLS = ("preToolUse", "postToolUse", "postToolUseFailure")
_SHARED_SERVERS = ".mcp.json"

_CLAUDE = AgentSettings(
    "claude", "Claude Code", ("claude",), (".claude",), (".claude", "CLAUDE.md"),
    HookSettings(
        ".claude/settings.local.json", ".claude/settings.json",
        (".claude/settings.json", ".claude/settings.local.json"), (".claude/settings.json",),
        tool_events=("PreToolUse", "PostToolUse", "PostToolUseFailure"), other_events=_SESSION,
        writers=_tools("claude", WRITE_TOOLS, SHELL_TOOLS, more="mcp__.*"),
        readers=_tools("claude", READ_TOOLS, LOOK_TOOLS),
        grouped=True, first=_TYPED, refusing={"onFailure": "block"}, style=Style(mark=True),
        switch=("disableAllHooks",),
    ),
    ServerSettings(
        _SHARED_SERVERS, files=(_SHARED_SERVERS,),
        trust=("asks once whether to use the MCP server `dibs`: answer yes",),
    ),
    page="CLAUDE.md", skills=".claude/skills",
    trust=("asks once whether to trust this folder: answer yes",),
    home_variable="CLAUDE_CONFIG_DIR", home_folder=".claude",
)  # fmt: skip

_CODEX = AgentSettings(
    "codex", "Codex CLI", ("codex",), (".codex",), (".codex",),
    HookSettings(
        ".codex/hooks.json", "", (".codex/hooks.json", ".codex/config.toml"),
        (".codex/hooks.json", ".codex/config.toml"),
        tool_events=("PreToolUse", "PostToolUse"), other_events=_SESSION, times={"SessionEnd": 3},
        writers=_tools("codex", SHELL_TOOLS, WRITE_TOOLS, more="mcp__.*"), grouped=True, first=_TYPED,
        style=Style(twice=False), switch=("features", "hooks"), off=False,
    ),
    ServerSettings(
        ".codex/config.toml", "mcp_servers", (".codex/config.toml",), (".codex/config.toml",),
        more={"startup_timeout_sec": 20},
    ),
    skills=".agents/skills",
    trust=(
        "is not guarded until you trust its hooks: run codex here, trust the folder, then use /hooks",
        "runs commands in a login shell: put dibs on the PATH in your shell profile",
    ),
    home_variable="CODEX_HOME", home_folder=".codex",
)  # fmt: skip

_GEMINI = AgentSettings(
    "gemini", "Gemini CLI", ("gemini",), (".gemini",), (".gemini", "GEMINI.md"),
    HookSettings(
        ".gemini/settings.json", "", (".gemini/settings.json",), (".gemini/settings.json",),
        user_file=".gemini/settings.json", before=("BeforeTool",), tool_events=("BeforeTool", "AfterTool"),
        other_events=("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"),
        writers=_tools("gemini", WRITE_TOOLS, SHELL_TOOLS, more="mcp_.*"),
        readers=_tools("gemini", READ_TOOLS, LOOK_TOOLS),
        grouped=True, first=_TYPED, more={"name": "dibs"}, per_second=1000,
        style=Style(comments=True), switch=("hooksConfig", "enabled"), off=False,
    ),
    ServerSettings(
        ".gemini/settings.json", "mcpServers", (".gemini/settings.json",), (".gemini/settings.json",),
        more={"timeout": PATIENCE * 1000}, style=Style(comments=True),
    ),
    page="GEMINI.md", skills=".agents/skills",
    trust=("runs hooks only in a trusted folder: run gemini here and trust it",),
    unguarded="is not guarded when it starts in a subfolder or with --skip-trust",
    home_variable="GEMINI_CLI_HOME",
)  # fmt: skip

_COPILOT = AgentSettings(
    "copilot", "Copilot CLI", ("copilot",), (".copilot",),
    (".github/hooks", ".github/copilot-instructions.md"),
    HookSettings(
        ".github/hooks/dibs.json", "", (".github/hooks/*.json", ".github/copilot/settings*.json"),
        (".copilot/hooks/*.json", ".copilot/settings.json"), ".copilot/hooks/dibs.json",
        before=("preToolUse", "PreToolUse"), tool_events=_CAMEL_TOOLS,
        other_events=("sessionStart", "userPromptSubmitted", "subagentStart", "subagentStop",
                      "agentStop", "sessionEnd"),
        key="bash", names_event=True, time_key="timeoutSec", first=_TYPED, version=1,
        switch=("disableAllHooks",),
    ),
    ServerSettings(
        _SHARED_SERVERS, files=(_SHARED_SERVERS,), user_files=(".copilot/mcp-config.json",), lent=True
    ),
    skills=".github/skills",
    trust=("is not guarded until you trust the folder: run copilot here and trust it",),
    unguarded="is not guarded in a subfolder or a resumed session if only --trust-folder trusts it",
    reads_too=("claude",), home_variable="COPILOT_HOME", home_folder=".copilot",
)  # fmt: skip

_OPENCODE = AgentSettings(
    "opencode", "opencode", ("opencode",), (".config/opencode",),
    (".opencode", "opencode.json", "opencode.jsonc"),
    HookSettings(  # a plug-in, which calls the same command
        ".opencode/plugin/dibs.js", "", (".opencode/plugin/*.js", ".opencode/plugins/*.js"),
        (".config/opencode/plugin/*.js", ".config/opencode/plugins/*.js"),
        before=("tool.execute.before",),
    ),
    ServerSettings(
        "opencode.json", "mcp", ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
        (".config/opencode/opencode.json",), style=ANY,
    ),
    skills=".agents/skills",
)  # fmt: skip

_CURSOR = AgentSettings(
    "cursor", "Cursor", ("cursor-agent", "cursor"), (".cursor",), (".cursor", ".cursorrules"),
    HookSettings(
        ".cursor/hooks.json", "", (".cursor/hooks.json",), (".cursor/hooks.json",),
        before=("preToolUse", "beforeShellExecution"), tool_events=_CAMEL_TOOLS,
        other_events=("sessionStart", "beforeSubmitPrompt", "subagentStart", "subagentStop", "stop",
                      "sessionEnd"),
        refusing={"failClosed": True}, version=1,
    ),
    ServerSettings(
        ".cursor/mcp.json", files=(".cursor/mcp.json",), user_files=(".cursor/mcp.json",),
        trust=("starts the MCP server `dibs` after you enable it in its settings",),
    ),
    trust=("runs project hooks only in a trusted workspace",),
)  # fmt: skip

_VSCODE = AgentSettings(
    # Its folders are common even where its agent is not used.
    "vscode", "VS Code", ("code", "code-insiders"), (), (), HookSettings(),
    ServerSettings(
        ".vscode/mcp.json", "servers", (".vscode/mcp.json",), more={"type": "stdio"}, style=ANY,
        trust=("starts the MCP server `dibs` when you click Start in .vscode/mcp.json",),
    ),
    trust=("runs hooks only in a trusted workspace",),
    borrows=("claude", "copilot"),
)  # fmt: skip

AGENTS: dict[str, AgentSettings] = {
    agent.name: agent for agent in (_CLAUDE, _CODEX, _GEMINI, _COPILOT, _OPENCODE, _CURSOR, _VSCODE)
}
