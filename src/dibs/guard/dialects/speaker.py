"""Recognize the agent that sent a payload: some agents also run the hooks in another agent's settings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_GEMINI = frozenset((
    *("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"),
    *("BeforeToolSelection", "PreCompress"),
))  # fmt: skip
#: Sets of fields that only one agent sends; the first match counts.
_MARKS: tuple[tuple[str, tuple[frozenset[str], ...]], ...] = (
    ("opencode", (frozenset(("dibs_opencode",)),)),
    ("cursor", (frozenset(("cursor_version",)), frozenset(("conversation_id", "generation_id")))),
    ("vscode", (frozenset(("hookEventName",)),)),
    ("copilot", (frozenset(("sessionId",)), frozenset(("toolName",)))),
    ("codex", (frozenset(("hook_event_name", "turn_id", "model")),)),
)
#: Dialects with Claude's event names, which a payload cannot contradict.
_LIKE_CLAUDE = frozenset(("claude", "codex", "gemini", "vscode"))


def speaker(named: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Return the dialect of a payload; ``named`` is the agent that the hook was installed for."""
    event = payload.get("hook_event_name")
    if isinstance(event, str) and event in _GEMINI:
        return "gemini"
    for name, marks in _MARKS:
        if any(mark <= payload.keys() for mark in marks):
            return name
    if not isinstance(event, str):
        return named
    if _is_copilot(payload, environ):
        return "copilot"
    if event[:1].islower():
        return "copilot" if named == "copilot" else "cursor"
    return named if named in _LIKE_CLAUDE else "claude"


def _is_copilot(payload: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Return whether Copilot uses Claude's names; an agent started from its shell has its variables."""
    if not environ.get("COPILOT_CLI") or "timestamp" not in payload:
        return False
    return payload.get("session_id") != environ.get("CLAUDE_CODE_SESSION_ID")
