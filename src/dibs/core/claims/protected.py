"""Files that configure tools, whose writers could run code; short because every tool call loads it."""

from __future__ import annotations

#: Files that steer tools of the user: whoever writes them can have code run in the user's name.
GUARDED = frozenset({
    "dibs.toml", ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json", ".gemini/settings.json",
    ".cursor/mcp.json", ".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json",
    ".gitmodules", ".pre-commit-config.yaml", ".vscode/mcp.json", ".windsurf/hooks.json", "opencode.json",
    "opencode.jsonc",
})  # fmt: skip
#: Folders in which every file does so.
GUARDED_FOLDERS = (
    *(".codex/", ".claude/hooks/", ".github/hooks/", ".opencode/plugin/", ".opencode/plugins/"),
    *(".husky/", ".githooks/"),
)


def guarded(path: str) -> bool:
    """Tell whether ``path`` is a file that steers tools; spelling in capitals changes nothing."""
    lowered = path.lower()
    return lowered in GUARDED or lowered.startswith(GUARDED_FOLDERS)
