"""Windsurf: only the exit status and standard error are heard, and only before something is done."""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, How, Word
from dibs.guard.dialects.base import REFUSED, called, failed, one_file, text, word
from dibs.guard.dialects.tools import bad

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import Verdict

MOMENTS = {
    "pre_write_code": EventKind.BEFORE,
    "pre_run_command": EventKind.BEFORE,
    "pre_mcp_tool_use": EventKind.BEFORE,
    "pre_read_code": EventKind.BEFORE,
    "post_write_code": EventKind.AFTER,
    "post_run_command": EventKind.AFTER,
    "post_mcp_tool_use": EventKind.AFTER,
    "post_read_code": EventKind.AFTER,
    "pre_user_prompt": EventKind.PROMPTED,
    "post_cascade_response": EventKind.STOPPED,
}
TELLING: frozenset[str] = frozenset()


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard; a trajectory is a session."""
    event = word(payload, "agent_action_name") or event
    if not event:
        raise bad("the call names no event")
    info = payload.get("tool_info")
    if not isinstance(info, dict):
        info = {}
    heard = HookEvent(
        "windsurf",
        MOMENTS.get(event, EventKind.OTHER),
        session=word(payload, "trajectory_id"),
        call=word(payload, "execution_id"),
        cwd=text(info, "cwd"),
        model=word(payload, "model_name"),
        event=event,
    )
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    if event.endswith("_code"):
        how = How.READ if event.endswith("_read_code") else How.WRITE
        return one_file(heard._replace(tool=event), info, how)
    if event.endswith("_run_command"):
        return called(heard, payload, "run_command", info, heard.call)
    server, tool = word(info, "mcp_server_name"), word(info, "mcp_tool_name")
    given = info.get("mcp_tool_arguments")
    return called(heard, {"mcp_server_name": server}, tool, given, heard.call)


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told: never, but for why it is refused."""
    return heard.event in TELLING


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Refuse, or say nothing."""
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        return HookReply(stderr=verdict.text or "refused", status=REFUSED)
    return HookReply()
