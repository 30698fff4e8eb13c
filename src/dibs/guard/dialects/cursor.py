"""Cursor: a permission and two messages; ``{}`` where there is nothing to say, which some versions need."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookReply, How, Word
from dibs.guard.dialects.base import REFUSED, called, common, one_file, spoken, text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent, Verdict

MOMENTS = {
    "sessionStart": EventKind.STARTED,
    "beforeSubmitPrompt": EventKind.PROMPTED,
    "preToolUse": EventKind.BEFORE,
    "beforeShellExecution": EventKind.BEFORE,
    "beforeMCPExecution": EventKind.BEFORE,
    "beforeReadFile": EventKind.BEFORE,
    "postToolUse": EventKind.AFTER,
    "postToolUseFailure": EventKind.AFTER,
    "afterShellExecution": EventKind.AFTER,
    "afterMCPExecution": EventKind.AFTER,
    "afterFileEdit": EventKind.AFTER,
    "preCompact": EventKind.COMPACTED,
    "stop": EventKind.STOPPED,
    "sessionEnd": EventKind.ENDED,
    "subagentStart": EventKind.SUBAGENT_STARTED,
    "subagentStop": EventKind.SUBAGENT_STOPPED,
}
#: What can be added to at an event, in the words of the agent.
TELLING = {
    "sessionStart": "additional_context",
    "postToolUse": "additional_context",
    "stop": "followup_message",
}
#: The tool that an event without a name of one is about.
_TOOLS = {
    "beforeShellExecution": "Shell",
    "afterShellExecution": "Shell",
    "beforeReadFile": "Read",
    "afterFileEdit": "Edit",
}


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard; a conversation is a session, and its first folder where it stands."""
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    turns = payload.get("loop_count")
    heard = common("cursor", payload, event, MOMENTS)
    heard = heard._replace(
        moment=MOMENTS.get(_own(heard.event), EventKind.OTHER),
        session=word(payload, "conversation_id", "session_id"),
        subagent=word(payload, "subagent_id", "agent_id"),
        subagent_type=word(payload, "subagent_type", "agent_type"),
        cwd=text(payload, "cwd") or first,
        stop_active=isinstance(turns, int) and turns > 0,
    )
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    call = word(payload, "tool_use_id", "generation_id")
    if heard.event in {"beforeReadFile", "afterFileEdit"}:
        how = How.READ if heard.event == "beforeReadFile" else How.WRITE
        return one_file(heard._replace(tool=_TOOLS[heard.event], call=call), payload, how)
    tool = word(payload, "tool_name") or _TOOLS.get(heard.event, "")
    shell = {"command": payload.get("command")}
    given = shell if heard.event.endswith("ShellExecution") else payload.get("tool_input")
    return called(heard, payload, tool, given, call)


def _own(event: str) -> str:
    """Return the name of an event in Cursor's own spelling: it can run hooks of Claude's file, too."""
    return "beforeSubmitPrompt" if event == "UserPromptSubmit" else event[:1].lower() + event[1:]


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    return _own(heard.event) in TELLING and not heard.stop_active


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict."""
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        why = verdict.text or "refused"
        note = verdict.note or why.partition("\n")[0]
        return spoken({"permission": "deny", "user_message": note, "agent_message": why})
    if verdict.word == Word.TELL and verdict.text and can_tell(heard):
        return spoken({TELLING[_own(heard.event)]: verdict.text})
    return spoken({}, nothing="{}")


def failed(line: str, heard: HookEvent | None) -> HookReply:
    """Refuse by the exit status; the rest goes on."""
    if heard is not None and heard.moment != EventKind.BEFORE:
        return HookReply("{}", line)
    return HookReply(stderr=line, status=REFUSED)
