"""opencode: it runs plugins, not programs; ours sends this payload, and does what the answer says.

The plugin is ``install/agents/opencode.js``: both files change together.
"""

from __future__ import annotations

from dibs.core.toolcalls.values import EventKind, HookEvent, HookReply, Word
from dibs.guard.dialects.base import called, failed, spoken, text, word
from dibs.guard.dialects.tools import bad

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import Verdict

MOMENTS = {
    "started": EventKind.STARTED,
    "prompted": EventKind.PROMPTED,
    "before": EventKind.BEFORE,
    "after": EventKind.AFTER,
    "compacted": EventKind.COMPACTED,
    "stopped": EventKind.STOPPED,
    "ended": EventKind.ENDED,
    "subagent_started": EventKind.SUBAGENT_STARTED,
    "subagent_stopped": EventKind.SUBAGENT_STOPPED,
}
#: What is told at the others has no place to go to.
TELLING = frozenset(("started", "prompted", "after", "compacted", "subagent_started"))


def parse(payload: dict[str, Any], event: str) -> HookEvent:
    """Return what was heard; a session with a parent is a subagent of it."""
    event = word(payload, "event") or event
    if not event:
        raise bad("the call names no event")
    parent, session = word(payload, "parentID"), word(payload, "sessionID")
    heard = HookEvent(
        "opencode",
        MOMENTS.get(event, EventKind.OTHER),
        session=parent or session,
        subagent=session if parent else "",
        subagent_type=word(payload, "agent") if parent else "",
        cwd=text(payload, "cwd"),
        model=word(payload, "model"),
        source=word(payload, "source"),
        event=event,
    )
    if heard.moment not in {EventKind.BEFORE, EventKind.AFTER}:
        return heard
    return called(
        heard, payload, word(payload, "tool"), payload.get("args"), word(payload, "callID")
    )


def can_tell(heard: HookEvent) -> bool:
    """Tell whether the model hears what is told at this event."""
    return heard.event in TELLING


def answer(verdict: Verdict, heard: HookEvent) -> HookReply:
    """Say a verdict to the plugin: ``deny`` is thrown, ``tell`` is added to what the model reads."""
    if verdict.word == Word.DENY and heard.moment == EventKind.BEFORE:
        return spoken({"deny": verdict.text or "refused"})
    if verdict.word == Word.TELL and verdict.text and can_tell(heard):
        return spoken({"tell": verdict.text})
    return HookReply()
