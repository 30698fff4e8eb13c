"""opencode: a plugin in place of hooks; it calls the same command."""

from __future__ import annotations

import json
import os

from dibs.install.agents.base import AgentInstaller, FileEdit, instructions, skill
from dibs.install.entries.json_scan import ANY
from dibs.install.entries.pieces import McpEntry, WholeFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.install.agents.base import Choice

#: What the plugin's first line holds, and where the words of the command go.
MARK, _PLACE = "dibs:opencode", '"@DIBS_HOOK@"'


def plugin(choice: Choice) -> str:
    """Return the text of the plugin, with the command in it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode.js")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    words = [*choice.commands.hook_words, "opencode"]
    return text.replace(_PLACE, json.dumps(words, ensure_ascii=False))


def _opencode(choice: Choice) -> list[FileEdit]:
    local = not choice.shared
    piece = WholeFile(plugin(choice), MARK)
    wishes = [FileEdit(".opencode/plugin/dibs.js", piece, "plugin", local=local)]
    if choice.servers:
        name = "opencode.jsonc" if choice.has("opencode.jsonc") else "opencode.json"
        entry = {"type": "local", "command": list(choice.commands.server), "enabled": True}
        server = McpEntry(("mcp", "dibs"), entry, ANY)
        wishes.append(FileEdit(name, server, "MCP server", local=local))
    return [*wishes, *instructions(choice, "AGENTS.md"), *skill(choice, ".agents/skills")]


OPENCODE = AgentInstaller(
    "opencode",
    "opencode",
    ("opencode",),
    (".config/opencode",),
    (".opencode", "opencode.json", "opencode.jsonc"),
    _opencode,
)
