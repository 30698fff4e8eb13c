"""Gemini CLI: events of its own names, a plain ``decision``, and text for the model at three of them."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, Word
from dibs.guard.dialects.base import called, common, failed, spoken, word

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, HookReply, Verdict

#: ``PreCompress`` is not among them: it comes before every call of the model, compressed or not.
MOMENTS = {
    "SessionStart": EventKind.STARTED,
    "BeforeAgent": EventKind.PROMPTED,
    "BeforeTool": EventKind.BEFORE,
    "AfterTool": EventKind.AFTER,
    "AfterAgent": EventKind.STOPPED,
    "SessionEnd": EventKind.ENDED,
}
TELLING = frozenset(("SessionStart", "BeforeAgent", "AfterTool"))


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard; calls inside a subagent cannot be told from those of the main thread."""
    heard = common("gemini", payload, event, MOMENTS)
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    return called(heard, payload, word(payload, "tool_name"), payload.get("tool_input"))


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    return heard.event in TELLING


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict; nothing but JSON may go to standard output."""
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        return spoken({"decision": "deny", "reason": verdict.text or "refused"})
    if verdict.word != Word.TELL or not verdict.text or not can_tell(heard):
        return spoken({})
    told = {"hookEventName": heard.event, "additionalContext": verdict.text}
    return spoken({"hookSpecificOutput": told})
