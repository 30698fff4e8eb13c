"""Other agents' dialects: how each differs from Claude Code."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookReply, How
from dibs.guard.dialects.base import (
    Dialect,
    called,
    events,
    one_file,
    specific,
    spoken,
    word,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent


class VSCode(Dialect):
    """VS Code: Claude's events and answers, but its own field names in payloads."""

    # It has no event after a context compaction, only one before.
    moments = Dialect.moments | {"PreCompact": EventKind.COMPACTED}
    telling = Dialect.telling - {"UserPromptSubmit"}
    event_keys = ("hookEventName", "hook_event_name")
    session_keys = ("sessionId", "session_id")

    def tell(self, told: str, heard: HookEvent) -> dict[str, object]:
        """Return text for the model; at the end of a turn, the decision is also one level deeper."""
        if heard.event not in self.stopping:
            return super().tell(told, heard)
        return {
            **specific(heard, decision="block", reason=told),
            "decision": "block",
            "reason": told,
        }


class Gemini(Dialect):
    """Gemini CLI: its own event names, a plain ``decision``, and text for the model at three events.

    Subagents' calls look like those of the main thread.
    """

    #: Without ``PreCompress``, which fires before every model call, compressed or not.
    moments = events(
        started="SessionStart", prompted="BeforeAgent", before="BeforeTool", after="AfterTool",
        stopped="AfterAgent", ended="SessionEnd",
    )  # fmt: skip
    telling = frozenset(("SessionStart", "BeforeAgent", "AfterTool"))
    stopping = frozenset()

    def deny(self, why: str, note: str, heard: HookEvent) -> dict[str, object]:  # noqa: ARG002
        """Return a denial."""
        return {"decision": "deny", "reason": why}


class Copilot(Dialect):
    """Copilot CLI: two dialects, which differ in the spelling of events.

    In its own (``preToolUse``) the payload does not name the event; the hook's command line does. In the
    other (``PreToolUse``, from Claude's settings), events and tools are Claude's, and the arguments
    Copilot's. Any exit status but 0 denies the call and loses the reason, so answers are always JSON.
    """

    moments = events(
        started="sessionStart", prompted="userPromptSubmitted", before="preToolUse",
        after="postToolUse postToolUseFailure", compacted="preCompact", stopped="agentStop",
        ended="sessionEnd", subagent_started="subagentStart", subagent_stopped="subagentStop",
    )  # fmt: skip
    telling = frozenset(("sessionStart", "userPromptSubmitted", "postToolUse", "subagentStart"))
    stopping = frozenset(("agentStop", "subagentStop"))
    session_keys = ("sessionId", "session_id")
    subagent_keys = ("agentId", "agent_id")
    subagent_type_keys = ("agentType", "agent_type", "agentName")
    tool_keys = ("toolName", "tool_name")
    argument_keys = ("toolArgs", "tool_input")
    call_keys = ("toolCallId", "toolUseId", "tool_use_id")
    #: Fields that identify the event of a payload without a name; the first match counts.
    _signs = (
        ("toolResult", "postToolUse"),
        ("toolName", "preToolUse"),
        ("prompt", "userPromptSubmitted"),
        ("initialPrompt", "sessionStart"),
        ("agentName", "subagentStart"),
        ("stopReason", "agentStop"),
        ("reason", "sessionEnd"),
    )

    def event(self, payload: dict[str, Any], event: str) -> str:
        """Return the name of the event, derived from the payload if it is missing."""
        named = super().event(payload, event)
        if named or "hook_event_name" in payload:
            return named
        return next((name for sign, name in self._signs if sign in payload), "")

    def own(self, event: str) -> str:
        """Return the event in Copilot's own spelling."""
        alike = {"Stop": "agentStop", "UserPromptSubmit": "userPromptSubmitted"}
        return alike.get(event) or event[:1].lower() + event[1:]

    def heard(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Return the fields that every event has.

        A subagent has its own session ID and names its parent's; the end of its turn is its end.
        """
        heard = super().heard(payload, event)
        if not heard.subagent:
            return heard
        parent = word(payload, "parentAgentId", "parent_agent_id")
        ends = heard.moment == EventKind.STOPPED
        return heard._replace(
            session=parent or heard.session,
            moment=EventKind.SUBAGENT_STOPPED if ends else heard.moment,
        )

    def can_tell(self, heard: HookEvent) -> bool:
        """Return whether the model reads text at this event."""
        return heard.event == "PreToolUse" or super().can_tell(heard)

    def deny(self, why: str, note: str, heard: HookEvent) -> dict[str, object]:
        """Return a denial in the dialect of the event."""
        if heard.event[:1].isupper():
            return super().deny(why, note, heard)
        return {"permissionDecision": "deny", "permissionDecisionReason": why}

    def tell(self, told: str, heard: HookEvent) -> dict[str, object]:
        """Return text for the model; before a tool call, in Claude's format."""
        if heard.moment == EventKind.BEFORE or self.own(heard.event) in self.stopping:
            return super().tell(told, heard)
        return {"additionalContext": told}

    def failed(self, line: str, heard: HookEvent | None) -> HookReply:
        """Deny by JSON, so that the reason arrives; in both formats if the dialect is unknown."""
        if heard is not None and heard.moment != EventKind.BEFORE:
            return HookReply(stderr=line)
        decided = {"permissionDecision": "deny", "permissionDecisionReason": line}
        both = {**decided, "hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
        return spoken(both if heard is None else self.deny(line, "", heard))._replace(stderr=line)


class Cursor(Dialect):
    """Cursor: a permission and two messages; some versions need ``{}`` if there is nothing to say."""

    moments = events(
        started="sessionStart", prompted="beforeSubmitPrompt",
        before="preToolUse beforeShellExecution beforeMCPExecution beforeReadFile",
        after="postToolUse postToolUseFailure afterShellExecution afterMCPExecution afterFileEdit",
        compacted="preCompact", stopped="stop", ended="sessionEnd",
        subagent_started="subagentStart", subagent_stopped="subagentStop",
    )  # fmt: skip
    session_keys = ("conversation_id", "session_id")
    subagent_keys = ("subagent_id", "agent_id")
    subagent_type_keys = ("subagent_type", "agent_type")
    call_keys = ("tool_use_id",)  # a generation has several calls
    nothing = "{}"
    telling = frozenset(("sessionStart", "postToolUse", "stop"))
    #: The tools of events that do not name theirs.
    _tools = events(
        Shell="beforeShellExecution afterShellExecution",
        Read="beforeReadFile",
        Edit="afterFileEdit",
    )

    def own(self, event: str) -> str:
        """Return the event in Cursor's own spelling; it also runs hooks in Claude's settings."""
        prompted = event == "UserPromptSubmit"
        return "beforeSubmitPrompt" if prompted else event[:1].lower() + event[1:]

    def heard(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Return the fields that every event has; a conversation is a session, in its first folder."""
        roots = payload.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        turns = payload.get("loop_count")
        heard = super().heard(payload, event)
        again = isinstance(turns, int) and turns > 0
        return heard._replace(cwd=heard.cwd or first, stop_active=again)

    def with_tool(self, payload: dict[str, Any], heard: HookEvent) -> HookEvent:
        """Return the event with its tool call."""
        call = word(payload, *self.call_keys)
        if heard.event in {"beforeReadFile", "afterFileEdit"}:
            how = How.READ if heard.event == "beforeReadFile" else How.WRITE
            return one_file(heard._replace(tool=self._tools[heard.event], call=call), payload, how)
        tool = word(payload, *self.tool_keys) or self._tools.get(heard.event, "")
        shell = {"command": payload.get("command")}
        given = shell if heard.event.endswith("ShellExecution") else payload.get("tool_input")
        return called(heard, payload, tool, given, call)

    def can_tell(self, heard: HookEvent) -> bool:
        """Return whether the model reads text at this event."""
        return self.own(heard.event) in self.telling and not heard.stop_active

    def deny(self, why: str, note: str, heard: HookEvent) -> dict[str, object]:  # noqa: ARG002
        """Return a denial."""
        note = note or why.partition("\n")[0]
        return {"permission": "deny", "user_message": note, "agent_message": why}

    def tell(self, told: str, heard: HookEvent) -> dict[str, object]:
        """Return text for the model."""
        ends = heard.moment == EventKind.STOPPED
        return {"followup_message" if ends else "additional_context": told}


class OpenCode(Dialect):
    """opencode: it runs plugins, not programs; ours sends this payload and carries out the answer.

    The plugin is ``install/agents/opencode.js``; change both together.
    """

    moments = events(**dict(zip(EventKind, EventKind, strict=True)))
    #: Other events cannot carry text for the model.
    telling = frozenset(("started", "prompted", "after", "compacted", "subagent_started"))
    stopping = frozenset()
    event_keys = ("event",)
    session_keys = ("sessionID",)
    subagent_keys = subagent_type_keys = ()
    source_keys = ("source",)
    tool_keys = ("tool",)
    argument_keys = ("args",)
    call_keys = ("callID",)

    def heard(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Return the fields that every event has; a session with a parent is its subagent."""
        heard = super().heard(payload, event)
        parent = word(payload, "parentID")
        if not parent:
            return heard
        agent = word(payload, "agent")
        return heard._replace(session=parent, subagent=heard.session, subagent_type=agent)

    def deny(self, why: str, note: str, heard: HookEvent) -> dict[str, object]:  # noqa: ARG002
        """Return a denial, which the plugin throws."""
        return {"deny": why}

    def tell(self, told: str, heard: HookEvent) -> dict[str, object]:  # noqa: ARG002
        """Return the text that the plugin adds for the model."""
        return {"tell": told}


DIALECTS: dict[str, type[Dialect]] = {
    "gemini": Gemini, "copilot": Copilot, "cursor": Cursor, "opencode": OpenCode,
    "vscode": VSCode,
}  # fmt: skip
