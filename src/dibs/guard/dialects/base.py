"""What the dialects share: reading fields that may be missing or wrong, and what a failure looks like."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, Touch
from dibs.errors import BadInput
from dibs.guard.dialects.tools import ToolTarget, bad, checked, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Words of an agent that we keep are no longer than this.
WORD_MAX = 200
#: What a hook ends with to refuse; any other number but 0 lets the tool run in most agents.
REFUSED = 2


def text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of some fields that holds text; what is no text counts as not there."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def word(payload: Mapping[str, Any], *names: str) -> str:
    """Return a short field, such as an id, without halves of characters, which no store takes."""
    found = text(payload, *names)[:WORD_MAX]
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


def common(
    agent: str, payload: Mapping[str, Any], event: str, moments: Mapping[str, str]
) -> HookEvent:
    """Return what every call says, of agents that use Claude's names for it."""
    event = word(payload, "hook_event_name") or event
    if not event:
        raise bad("the call names no event")
    return HookEvent(
        agent,
        moments.get(event, EventKind.OTHER),
        session=word(payload, "session_id"),
        subagent=word(payload, "agent_id"),
        subagent_type=word(payload, "agent_type"),
        cwd=text(payload, "cwd"),
        model=word(payload, "model"),
        source=word(payload, "source", "reason"),
        stop_active=payload.get("stop_hook_active") is True,
        event=event,
    )


def one_file(heard: HookEvent, fields: Mapping[str, Any], how: str) -> HookEvent:
    """Return what was heard with the one file that its event is about.

    Of what is over, as in ``called``, nothing has to be understood.
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
    """Return what was heard with the tool, what it touches, and what a shell would run.

    Only a call that is still to come must be understood; of one that is over, what can be is.
    """
    before = heard.moment == EventKind.BEFORE
    if not tool and before:
        raise bad("the call names no tool")
    try:
        found = target(tool, arguments, _server(payload))
    except BadInput:
        if before:
            raise
        found = ToolTarget()
    return heard._replace(
        tool=tool[:WORD_MAX],
        call=call[:WORD_MAX] or _number(found.command),
        touches=found.touches,
        command=found.command,
        cwd=os.path.join(heard.cwd, found.folder) if found.folder else heard.cwd,
    )


def _number(command: str) -> str:
    """Return what a command is known by before and after it ran, where the agent does not number it."""
    if not command:
        return ""
    from binascii import crc32

    return f"c{crc32(command.encode('utf-8', 'surrogatepass')):08x}"


def _server(payload: Mapping[str, Any]) -> str:
    """Return the MCP server that a tool belongs to, where the agent says so."""
    for name in ("mcp_server", "mcp_context"):
        value = payload.get(name)
        if isinstance(value, dict):
            return word(value, "name", "server_name")
    return word(payload, "mcp_server_name")


def spoken(found: Mapping[str, object], nothing: str = "") -> HookReply:
    """Return an answer as one line of JSON, in ASCII so that no terminal or locale can spoil it."""
    if not found:
        return HookReply(nothing)
    from dibs.startup.quickjson import dumps

    return HookReply(dumps(found))


def failed(line: str, heard: HookEvent | None) -> HookReply:
    """Refuse by the exit status; where nothing waits to be refused, say it and go on.

    At the end of a turn a refusal would keep the agent going for ever, and a prompt would be lost.
    """
    asked = heard is None or heard.moment == EventKind.BEFORE
    return HookReply(stderr=line, status=REFUSED if asked else 0)
