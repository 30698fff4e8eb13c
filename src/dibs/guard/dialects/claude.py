"""Claude Code, whose shape others have taken over: names of its events in ``hook_event_name``, JSON back."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, Verdict, Word
from dibs.guard.dialects.base import called, common, failed, spoken, word

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOMENTS = {
    "SessionStart": EventKind.STARTED,
    "UserPromptSubmit": EventKind.PROMPTED,
    "PreToolUse": EventKind.BEFORE,
    "PostToolUse": EventKind.AFTER,
    "PostToolUseFailure": EventKind.AFTER,
    "PostCompact": EventKind.COMPACTED,
    "Stop": EventKind.STOPPED,
    "SessionEnd": EventKind.ENDED,
    "SubagentStart": EventKind.SUBAGENT_STARTED,
    "SubagentStop": EventKind.SUBAGENT_STOPPED,
}
#: The events at which text can be added to what the model knows.
TELLING = frozenset((
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    "SubagentStart",
))  # fmt: skip
#: The events at which the model takes another turn when it is told something.
STOPPING = frozenset(("Stop", "SubagentStop"))


def parse(payload: dict[str, Any], event: str, agent: str = "claude") -> HookEvent:
    """Return what was heard; the payload names its event itself."""
    heard = common(agent, payload, event, MOMENTS)
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    tool, call = word(payload, "tool_name"), word(payload, "tool_use_id")
    return called(heard, payload, tool, payload.get("tool_input"), call)


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    if heard.event in STOPPING:
        return not heard.stop_active
    return heard.event in TELLING


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict as JSON; to say nothing leaves the agent's own rules in force."""
    found = shape(verdict, heard)
    if verdict.note:
        found["systemMessage"] = verdict.note
    return spoken(found)


def shape(verdict: Verdict, heard: HookEvent) -> dict[str, object]:
    """Return a verdict as the agent's own fields."""
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        return _specific(
            heard, permissionDecision="deny", permissionDecisionReason=verdict.text or "refused"
        )
    if not verdict.text or verdict.word == Word.PASS or not can_tell(heard):
        return {}
    if heard.event in STOPPING:
        return {"decision": "block", "reason": verdict.text}
    return _specific(heard, additionalContext=verdict.text)


def _specific(heard: HookEvent, **fields: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": heard.event, **fields}}
