"""Files that configure tools, whose writers could run code; short because every tool call loads it."""

from __future__ import annotations

#: Files that configure the user's tools: their writers can run code as the user.
GUARDED = frozenset({
    "dibs.toml", "crew.toml", ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json",
    ".gemini/settings.json", ".cursor/mcp.json", ".cursor/hooks.json", ".claude/settings.json",
    ".claude/settings.local.json",
    ".gitmodules", ".pre-commit-config.yaml", ".vscode/mcp.json", ".windsurf/hooks.json", "opencode.json",
    "opencode.jsonc",
})  # fmt: skip
#: Folders with only such files.
GUARDED_FOLDERS = (
    *(".codex/", ".claude/hooks/", ".github/hooks/", ".opencode/plugin/", ".opencode/plugins/"),
    *(".husky/", ".githooks/"),
)


def guarded(path: str) -> bool:
    """Return whether ``path`` configures tools; case does not matter."""
    lowered = path.lower()
    return lowered in GUARDED or lowered.startswith(GUARDED_FOLDERS)
