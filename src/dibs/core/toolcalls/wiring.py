"""The parts of settings files that guard agents: the hooks, and what disables them. Pure.

Agents, git, and people write these files all the time, for example to remember a permission or a remote. Only
a change of the parts below can switch a guard off.
"""

from __future__ import annotations

from dibs.core.claims.protected import AGENT_FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Files in the repository that guard agents; a folder ends in a slash.
WIRING = (
    "dibs.toml", ".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/",
    ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json", ".github/hooks/",
    ".github/copilot/settings.json", ".github/copilot/settings.local.json", ".opencode/plugin/",
    ".opencode/plugins/", ".opencode/opencode.json", "opencode.json", ".cursor/hooks.json",
    ".cursor/mcp.json",
)  # fmt: skip
#: More folders whose modes matter.
WIRING_FOLDERS = (*AGENT_FOLDERS, ".codex")
#: Keys of JSON settings that hold hooks or disable them, and those with a table of MCP servers.
_HOOK_KEYS = ("hooks", "disableAllHooks", "hooksConfig")
_SERVER_KEYS = ("mcpServers", "mcp", "servers")
#: Sections of TOML settings.
_TABLES = ("hooks", "features", "mcp_servers.dibs")
#: Sections and keys of git's settings.
GIT_SECTIONS = frozenset({"include", "includeif", "hook", "dibs"})
_GIT_KEYS = frozenset({"hookspath", "worktree", "bare"})


def guard_part(path: str, content: bytes) -> bytes:
    """Return the part of a file that guards agents; all of it if the file has no known form."""
    name = path.rpartition("/")[2]
    if name in {".gitconfig", "config", "config.worktree"}:
        return b"\n".join(_of_git(content))
    if name == "config.toml":
        return b"\n".join(_of_toml(content))
    if name.endswith(".json"):
        return _of_json(content)
    return content


def is_git_setting(key: str) -> bool:
    """Return whether a key of git's settings is in the part that guards agents."""
    section, _, rest = key.lower().partition(".")
    return section in GIT_SECTIONS or (section == "core" and rest in _GIT_KEYS)


def _of_git(content: bytes) -> Iterator[bytes]:
    section = ""
    for line in content.splitlines():
        bare = line.strip()
        if bare.startswith(b"["):
            section = (
                bare[1:].partition(b"]")[0].partition(b" ")[0].decode("utf-8", "replace").lower()
            )
            bare = bare.partition(b"]")[2].strip()
        key = bare.partition(b"=")[0].strip().decode("utf-8", "replace")
        if key and is_git_setting(f"{section}.{key}"):
            yield f"{section}.".encode() + bare


def _of_toml(content: bytes) -> Iterator[bytes]:
    inside = False
    for line in content.splitlines():
        bare = line.strip()
        if bare.startswith(b"["):
            name = bare.strip(b"[]").replace(b'"', b"").decode("utf-8", "replace")
            inside = name.startswith(_TABLES)
        elif not inside and bare.startswith((b"hooks", b"features")):
            yield bare
        if inside and bare:
            yield bare


def _of_json(content: bytes) -> bytes:
    from dibs.startup import quickjson

    try:
        found = quickjson.loads(content)
    except ValueError:
        return content
    if not isinstance(found, dict):
        return content
    part = {key: found[key] for key in _HOOK_KEYS if key in found}
    for key in _SERVER_KEYS:
        servers = found.get(key)
        if isinstance(servers, dict) and "dibs" in servers:
            part[key] = servers["dibs"]
    return quickjson.dumps(part).encode()
