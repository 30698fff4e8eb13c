"""The agent in VS Code: Claude's answers and events, but names of its own on the way in."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, Word
from dibs.guard.dialects import claude
from dibs.guard.dialects.base import failed, spoken, word

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, HookReply, Verdict


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard; what Claude spells with a line below, this one spells in one word."""
    known = {
        **payload,
        "hook_event_name": word(payload, "hookEventName", "hook_event_name"),
        "session_id": word(payload, "sessionId", "session_id"),
    }
    heard = claude.parse(known, event, "vscode")
    # Nothing comes after a compaction here, so what comes before it has to do.
    return heard._replace(moment=EventKind.COMPACTED) if heard.event == "PreCompact" else heard


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event; a prompt takes no text with it here."""
    return heard.event != "UserPromptSubmit" and claude.can_tell(heard)


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict as Claude hears it; the end of a turn has its decision one level deeper."""
    if verdict.word == Word.TELL and not can_tell(heard):
        return spoken({})
    found = claude.shape(verdict, heard)
    if "decision" in found:
        found = {"hookSpecificOutput": {"hookEventName": heard.event, **found}, **found}
    return spoken(found)
