"""Files that configure tools, whose writers could run code; short because every tool call loads it."""

from __future__ import annotations

#: Files that configure the user's tools: their writers can run code as the user.
GUARDED = frozenset({
    "dibs.toml", "crew.toml", ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json",
    ".gemini/settings.json", ".cursor/mcp.json", ".cursor/hooks.json", ".claude/settings.json",
    ".claude/settings.local.json",
    ".gitmodules", ".pre-commit-config.yaml", ".vscode/mcp.json", "opencode.json",
    "opencode.jsonc", ".opencode/opencode.json", ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
})  # fmt: skip
#: Folders with only such files.
GUARDED_FOLDERS = (
    *(".codex/", ".claude/hooks/", ".github/hooks/", ".opencode/plugin/", ".opencode/plugins/"),
    *(".husky/", ".githooks/"),
)
#: Folders of agents, which hold such files among others.
AGENT_FOLDERS = (".claude", ".gemini", ".opencode", ".cursor")
#: The user's own files that configure agents, git, and Dibs, in the home folder.
HOME_GUARDED = (
    ".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".codex/hooks.json",
    ".gemini/settings.json", ".gemini/trustedFolders.json", ".copilot/settings.json", ".copilot/config.json",
    ".copilot/mcp-config.json", ".copilot/hooks/", ".cursor/hooks.json", ".cursor/mcp.json",
    ".config/opencode/plugin/",
    ".config/opencode/plugins/", ".config/opencode/opencode.json", ".gitconfig", ".config/git/config",
    ".config/git/attributes",
)  # fmt: skip
#: Variables that move one of these folders: to the variable's value, or to a folder in it.
HOME_VARIABLES = {
    ".claude": "CLAUDE_CONFIG_DIR", ".codex": "CODEX_HOME", ".copilot": "COPILOT_HOME",
    ".gemini": "GEMINI_CLI_HOME/.gemini", ".config": "XDG_CONFIG_HOME", ".gitconfig": "GIT_CONFIG_GLOBAL",
}  # fmt: skip


def guarded(path: str) -> bool:
    """Return whether ``path`` configures tools; case does not matter."""
    lowered = path.lower()
    return lowered in GUARDED or lowered.startswith(GUARDED_FOLDERS)


def is_guarded_folder(path: str) -> bool:
    """Return whether a folder contains files that configure tools; ignore case."""
    lowered = path.lower()
    return lowered in {".git", *AGENT_FOLDERS} or f"{lowered}/" in GUARDED_FOLDERS


def guarded_beneath(folder: str) -> list[str]:
    """Return the files and folders that configure tools and are lost with a folder; empty is the root."""
    above = f"{folder.lower()}/" if folder else ""
    return [path for path in (*sorted(GUARDED), *GUARDED_FOLDERS) if path.startswith(above)]
