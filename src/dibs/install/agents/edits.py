"""What ``dibs init`` writes for an agent, according to the table of agents."""

from __future__ import annotations

import json
import os

from dibs.install.agents.table import AGENTS, PATIENCE, SHORT_PATIENCE
from dibs.install.entries import texts
from dibs.install.entries.json_scan import Style
from dibs.install.entries.pieces import Block, Default, HookEntries, McpEntry, Table, WholeFile
from dibs.local.files import read_file, read_or_empty
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.install.agents.table import AgentSettings
    from dibs.install.entries.commands import Commands
    from dibs.install.entries.pieces import Piece

#: The mark in the first line of the opencode plug-in, and the placeholder of the command.
_PLUGIN_MARK, _PLUGIN_COMMAND = "dibs:opencode", '"@DIBS_HOOK@"'
#: The settings, all as comments; an existing file is never touched.
SETTINGS_FILE = "dibs.toml"


class Choice(Record):
    """What the user wants written, and where."""

    root: str
    commands: Commands
    #: Whether the files are for the whole team.
    shared: bool = False
    servers: bool = True
    instructions: bool = True
    #: Whether hooks check reads, too.
    reads: bool = False

    def has(self, path: str) -> bool:
        """Return whether the repository has this file or folder."""
        return os.path.lexists(os.path.join(self.root, path))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; empty if it cannot be read."""
        text = read_or_empty(os.path.join(self.root, path)).decode("utf-8", "replace")
        return [line.strip() for line in text.split("\n")]


class FileEdit(Record):
    """One addition that an agent needs in one file."""

    #: The file, relative to the root.
    path: str
    piece: Piece
    #: The label for people: hooks, MCP server, instructions, or skill.
    what: str
    #: Whether it is machine-specific, so that it must not be committed.
    local: bool = False


def settings_edit() -> FileEdit:
    """Return the edit that creates ``dibs.toml``."""
    return FileEdit(SETTINGS_FILE, WholeFile(texts.settings()), "settings")


def file_edits(agent: AgentSettings, choice: Choice) -> list[FileEdit]:
    """Return everything that an agent needs, according to the choice."""
    local = not choice.shared
    found = _hook_edits(AGENTS[agent.borrows[0]] if agent.borrows else agent, choice)
    if choice.servers:
        found.append(_server_edit(agent, choice))
    if choice.instructions:
        block = texts.BLOCK + (texts.BLOCK_TOOLS if choice.servers else "")
        found.append(FileEdit(_page(agent, choice), Block(block), "instructions"))
    if choice.instructions and agent.skills:
        piece = WholeFile(texts.SKILL, texts.SKILL_MARK)
        found.append(FileEdit(f"{agent.skills}/dibs/SKILL.md", piece, "skill", local=local))
    return found


def _page(agent: AgentSettings, choice: Choice) -> str:
    # Claude Code reads AGENTS.md only without a CLAUDE.md, so none is created.
    if agent.page != "CLAUDE.md":
        return agent.page
    takes_in = "@AGENTS.md" in choice.lines("CLAUDE.md")
    return "CLAUDE.md" if choice.has("CLAUDE.md") and not takes_in else "AGENTS.md"


def _hook_edits(agent: AgentSettings, choice: Choice) -> list[FileEdit]:
    settings, local = agent.hooks, not choice.shared
    path = settings.shared_file if choice.shared and settings.shared_file else settings.file
    if path.endswith(".js"):
        return [FileEdit(path, WholeFile(plugin_text(choice), _PLUGIN_MARK), "plugin", local=local)]
    found: list[Piece] = [hook_entries(agent, choice, path)]
    if settings.version:
        found.insert(0, Default(("version",), settings.version))
    return [FileEdit(path, piece, "hooks", local=local) for piece in found]


def hook_entries(agent: AgentSettings, choice: Choice, file: str = "") -> HookEntries:
    """Return the handlers for all events that we use, to be written to ``file``."""
    settings = agent.hooks
    every = f"{settings.writers}|{settings.readers}" if settings.readers else settings.writers
    groups: dict[str, tuple[Any, ...]] = {}
    for event in (*settings.tool_events, *settings.other_events):
        group = handler = _handler(agent, event, choice, file)
        if settings.grouped:
            # A read is a heartbeat once it has ended; it can be blocked only if reads take claims.
            checked = choice.reads or event not in settings.before
            tools = every if checked else settings.writers
            matcher = {"matcher": f"^({tools})$"} if event in settings.tool_events else {}
            group = {**matcher, "hooks": [handler]}
        groups[event] = (group,)
    return HookEntries(groups, settings.style or Style())


def _handler(agent: AgentSettings, event: str, choice: Choice, file: str) -> dict[str, Any]:
    settings = agent.hooks
    refuses = event.lower().startswith(("pre", "beforetool"))
    named = event if settings.names_event else ""
    command = choice.commands.hook(agent.name, named, file=file, can_refuse=refuses)
    usual = PATIENCE if event in settings.tool_events else SHORT_PATIENCE
    time = settings.times.get(event, usual) * settings.per_second
    handler = {
        **settings.first,
        settings.key: command,
        **settings.more,
        settings.time_key: time,
    }
    return {**handler, **settings.refusing} if refuses else handler


def plugin_text(choice: Choice) -> str:
    """Return the opencode plug-in, with the command filled in."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode.js")
    text = read_file(path).decode()
    words = [*choice.commands.hook_words, "opencode"]
    return text.replace(_PLUGIN_COMMAND, json.dumps(words, ensure_ascii=False))


def _server_edit(agent: AgentSettings, choice: Choice) -> FileEdit:
    """Return the entry for our MCP server."""
    settings = agent.server
    file, path = settings.file, (settings.key, "dibs")
    program, *arguments = choice.commands.server
    entry: dict[str, Any] = {"command": program, "args": arguments, **settings.more}
    if agent.name == "opencode":
        file = "opencode.jsonc" if choice.has("opencode.jsonc") else file
        entry = {"type": "local", "command": list(choice.commands.server), "enabled": True}
    toml = file.endswith(".toml")
    piece: Piece = Table(path, entry) if toml else McpEntry(path, entry, settings.style)
    return FileEdit(file, piece, "MCP server", local=not choice.shared)
