"""Claude Code's dialect, and what all dialects share: reading fields that may be missing or wrong."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, Touch, Word
from dibs.errors import BadInput
from dibs.guard.dialects.tools import ToolTarget, bad, checked, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.core.toolcalls.values import Verdict

#: The most characters kept of an agent's short fields.
WORD_MAX = 200
#: The exit status that denies a call; most agents allow the call after any other failure.
REFUSED = 2


def text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first field that contains text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def word(payload: Mapping[str, Any], *names: str) -> str:
    """Return a short field, such as an id, without lone surrogates, which no store accepts."""
    found = text(payload, *names)[:WORD_MAX]
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


def events(**names: str) -> dict[str, str]:
    """Return kinds of events by the agent's names for them."""
    return {name: kind for kind, some in names.items() for name in some.split()}


class Dialect:
    """One agent's dialect; the defaults are those of Claude Code and Codex."""

    moments = events(
        started="SessionStart", prompted="UserPromptSubmit", before="PreToolUse",
        after="PostToolUse PostToolUseFailure", compacted="PostCompact", stopped="Stop",
        ended="SessionEnd", subagent_started="SubagentStart", subagent_stopped="SubagentStop",
    )  # fmt: skip
    #: The events at which text can be added to the model's context.
    telling = frozenset((
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
        "SubagentStart",
    ))  # fmt: skip
    #: The events at which text makes the model take another turn.
    stopping = frozenset(("Stop", "SubagentStop"))
    #: The names of a payload's fields.
    event_keys: tuple[str, ...] = ("hook_event_name",)
    session_keys: tuple[str, ...] = ("session_id",)
    subagent_keys: tuple[str, ...] = ("agent_id",)
    subagent_type_keys: tuple[str, ...] = ("agent_type",)
    source_keys: tuple[str, ...] = ("source", "reason")
    tool_keys: tuple[str, ...] = ("tool_name",)
    argument_keys: tuple[str, ...] = ("tool_input",)
    call_keys: tuple[str, ...] = ("tool_use_id",)
    #: The output if there is nothing to say.
    nothing = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def parse(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Return the event of a payload; raise ``BadInput`` if it cannot be judged.

        ``event`` is the name in the hook's command line, for payloads without one.
        """
        event = self.event(payload, event)
        if not event:
            raise bad("the agent's call does not name its event")
        heard = self.heard(payload, event)
        if heard.moment in {EventKind.BEFORE, EventKind.AFTER}:
            return self.with_tool(payload, heard)
        return heard

    def event(self, payload: dict[str, Any], event: str) -> str:
        """Return the name of the event."""
        return word(payload, *self.event_keys) or event

    def own(self, event: str) -> str:
        """Return the event as the dialect's tables spell it."""
        return event

    def heard(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Return the fields that every event has."""
        return HookEvent(
            self.name,
            self.moments.get(self.own(event), EventKind.OTHER),
            session=word(payload, *self.session_keys),
            subagent=word(payload, *self.subagent_keys),
            subagent_type=word(payload, *self.subagent_type_keys),
            cwd=text(payload, "cwd"),
            model=word(payload, "model"),
            source=word(payload, *self.source_keys),
            stop_active=payload.get("stop_hook_active") is True,
            event=event,
        )

    def with_tool(self, payload: dict[str, Any], heard: HookEvent) -> HookEvent:
        """Return the event with its tool call."""
        tool, call = word(payload, *self.tool_keys), word(payload, *self.call_keys)
        given = next((payload[key] for key in self.argument_keys if key in payload), None)
        return called(heard, payload, tool, given, call)

    def can_tell(self, heard: HookEvent) -> bool:
        """Return whether the model reads text at this event."""
        event = self.own(heard.event)
        return event in self.telling or (event in self.stopping and not heard.stop_active)

    def answer(self, verdict: Verdict, heard: HookEvent) -> HookReply:
        """Return the reply for a verdict; an empty reply leaves the agent's own rules in force."""
        found = self.shape(verdict, heard)
        if verdict.note and self.name == "claude":  # Codex rejects unknown keys
            found["systemMessage"] = verdict.note
        return spoken(found, self.nothing)

    def shape(self, verdict: Verdict, heard: HookEvent) -> dict[str, object]:
        """Return a verdict as the agent's fields; none if there is nothing to say."""
        if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
            return self.deny(verdict.text or "blocked", verdict.note, heard)
        if not verdict.text or verdict.word != Word.TELL or not self.can_tell(heard):
            return {}
        return self.tell(verdict.text, heard)

    def deny(self, why: str, note: str, heard: HookEvent) -> dict[str, object]:  # noqa: ARG002
        """Return a denial; ``note`` is one line for the person who watches."""
        return specific(heard, permissionDecision="deny", permissionDecisionReason=why)

    def tell(self, told: str, heard: HookEvent) -> dict[str, object]:
        """Return text for the model."""
        if self.own(heard.event) in self.stopping:
            return {"decision": "block", "reason": told}
        return specific(heard, additionalContext=told)

    def failed(self, line: str, heard: HookEvent | None) -> HookReply:
        """Deny by the exit status, because the check failed; at other events only report the failure.

        Denying the end of a turn would keep the agent running forever, and denying a prompt would lose it.
        """
        if heard is None or heard.moment == EventKind.BEFORE:
            return HookReply(stderr=line, status=REFUSED)
        return HookReply(self.nothing, line)


def specific(heard: HookEvent, **fields: str) -> dict[str, object]:
    """Return fields of one event in Claude Code's format."""
    return {"hookSpecificOutput": {"hookEventName": heard.event, **fields}}


def one_file(heard: HookEvent, fields: Mapping[str, Any], how: str) -> HookEvent:
    """Return the event with its one file.

    As in ``called``, an event that is over need not be valid.
    """
    try:
        path = checked(fields.get("file_path"))
    except BadInput:
        if heard.moment == EventKind.BEFORE:
            raise
        return heard
    return heard._replace(touches=(Touch(path, how),))


def called(
    heard: HookEvent, payload: Mapping[str, Any], tool: str, arguments: object, call: str = ""
) -> HookEvent:
    """Return the event with its tool, the paths it touches, and its shell command.

    Only a call that has not run yet must be valid.
    """
    before = heard.moment == EventKind.BEFORE
    if not tool and before:
        raise bad("the agent's call does not name its tool")
    try:
        found = target(tool, arguments, _server(payload))
    except BadInput:
        if before:
            raise
        found = ToolTarget()
    return heard._replace(
        tool=tool[:WORD_MAX],
        call=call[:WORD_MAX] or _number(repr(arguments) if found.watch else found.command),
        touches=found.touches,
        command=found.command,
        mentions=found.mentions,
        watch=found.watch,
        cwd=os.path.join(heard.cwd, found.folder) if found.folder else heard.cwd,
    )


def _number(text: str) -> str:
    """Return an id for a call without one, the same before and after it runs."""
    if not text:
        return ""
    from binascii import crc32

    return f"c{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _server(payload: Mapping[str, Any]) -> str:
    """Return a tool's MCP server, if the agent names it."""
    for name in ("mcp_server", "mcp_context"):
        value = payload.get(name)
        if isinstance(value, dict):
            return word(value, "name", "server_name")
    return word(payload, "mcp_server_name")


def spoken(found: Mapping[str, object], nothing: str = "") -> HookReply:
    """Return an answer as one line of JSON, in ASCII so that no locale can corrupt it."""
    if not found:
        return HookReply(nothing)
    from dibs.startup.quickjson import dumps

    return HookReply(dumps(found))
