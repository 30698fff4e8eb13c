"""Copilot CLI: two dialects, told apart by how its events are written.

In its own (``preToolUse``) the payload does not name the event; the hook's command does. In the other
(``PreToolUse``, from the settings of Claude) events and tools are Claude's, and the arguments its own.
A hook that ends with any number but 0 refuses, and why is lost; so what it has to say is always JSON.
"""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, Word
from dibs.guard.dialects import claude
from dibs.guard.dialects.base import called, spoken, text, word
from dibs.guard.dialects.tools import bad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import Verdict

MOMENTS = {
    "sessionStart": EventKind.STARTED,
    "userPromptSubmitted": EventKind.PROMPTED,
    "preToolUse": EventKind.BEFORE,
    "postToolUse": EventKind.AFTER,
    "postToolUseFailure": EventKind.AFTER,
    "preCompact": EventKind.COMPACTED,
    "agentStop": EventKind.STOPPED,
    "sessionEnd": EventKind.ENDED,
    "subagentStart": EventKind.SUBAGENT_STARTED,
    "subagentStop": EventKind.SUBAGENT_STOPPED,
}
TELLING = frozenset(("sessionStart", "userPromptSubmitted", "postToolUse", "subagentStart"))
#: Both names of the same event.
_ALIKE = {"agentStop": "Stop", "userPromptSubmitted": "UserPromptSubmit"}
_STOPPING = frozenset(("agentStop", "subagentStop"))
#: What a payload without a name has in it, by event; the first that fits counts.
_SIGNS = (
    ("toolResult", "postToolUse"),
    ("toolName", "preToolUse"),
    ("prompt", "userPromptSubmitted"),
    ("initialPrompt", "sessionStart"),
    ("agentName", "subagentStart"),
    ("stopReason", "agentStop"),
    ("reason", "sessionEnd"),
)


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard.

    A subagent calls itself a session; the session that started it stands beside.
    """
    if "hook_event_name" in payload:
        event = word(payload, "hook_event_name") or event
        heard = claude.parse({**payload, "hook_event_name": _claudes(event)}, "", "copilot")
        own = MOMENTS.get(_own(event), EventKind.OTHER)
        return _names_and_patterns(heard._replace(moment=own, event=event), payload)
    event = event or next((name for sign, name in _SIGNS if sign in payload), "")
    if not event:
        raise bad("the call names no event")
    heard = _names_and_patterns(
        HookEvent(
            "copilot",
            MOMENTS.get(_own(event), EventKind.OTHER),
            session=word(payload, "sessionId"),
            cwd=text(payload, "cwd"),
            source=word(payload, "source", "reason"),
            stop_active=payload.get("stop_hook_active") is True,
            event=event,
        ),
        payload,
    )
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    tool, call = word(payload, "toolName"), word(payload, "toolCallId", "toolUseId")
    return called(heard, payload, tool, payload.get("toolArgs"), call)


def _names_and_patterns(heard: HookEvent, payload: dict[str, Any]) -> HookEvent:
    """Return what was heard with its subagent; the end of a subagent's turn is the end of the subagent."""
    subagent = word(payload, "agentId", "agent_id")
    if not subagent:
        return heard
    parent = word(payload, "parentAgentId", "parent_agent_id")
    ends = heard.moment == EventKind.STOPPED
    return heard._replace(
        session=parent or heard.session,
        subagent=subagent,
        subagent_type=word(payload, "agentType", "agent_type", "agentName"),
        moment=EventKind.SUBAGENT_STOPPED if ends else heard.moment,
    )


def _claudes(event: str) -> str:
    """Return the name of an event in Claude's dialect."""
    return _ALIKE.get(event) or event[:1].upper() + event[1:]


def _own(event: str) -> str:
    """Return the name of an event in Copilot's own dialect."""
    for own, other in _ALIKE.items():
        if event == other:
            return own
    return event[:1].lower() + event[1:]


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    event = _own(heard.event)
    if event in _STOPPING:
        return not heard.stop_active
    return event in TELLING or heard.event == "PreToolUse"


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict in the dialect that was spoken."""
    like_claude = heard.event[:1].isupper()
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        why = verdict.text or "refused"
        decided = {"permissionDecision": "deny", "permissionDecisionReason": why}
        if like_claude:
            return spoken({"hookSpecificOutput": {"hookEventName": heard.event, **decided}})
        return spoken(decided)
    if verdict.word != Word.TELL or not verdict.text or not can_tell(heard):
        return HookReply()
    if _own(heard.event) in _STOPPING:
        return spoken({"decision": "block", "reason": verdict.text})
    told = {"additionalContext": verdict.text}
    if heard.moment == EventKind.BEFORE:  # the one event at which it looks for it where Claude does
        return spoken({"hookSpecificOutput": {"hookEventName": heard.event, **told}})
    return spoken(told)


def failed(line: str, heard: HookEvent | None) -> HookReply:
    """Refuse by JSON, so that the reason arrives; both forms, where the dialect is not known."""
    if heard is not None and heard.moment != EventKind.BEFORE:
        return HookReply(stderr=line)
    decided = {"permissionDecision": "deny", "permissionDecisionReason": line}
    specific = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
    if heard is None:
        return spoken({**decided, **specific})._replace(stderr=line)
    return spoken(specific if heard.event[:1].isupper() else decided)._replace(stderr=line)
