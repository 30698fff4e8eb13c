"""opencode: it runs plugins, not programs; ours sends this payload, and does what the answer says.

The plugin is ``install/agents/opencode.js``: both files change together.
"""

from __future__ import annotations

from dibs.core.toolcalls.values import Heard, Moment, Said, Word
from dibs.guard.dialects.base import called, failed, spoken, text, word
from dibs.guard.dialects.tools import bad

__all__ = ["answer", "can_tell", "failed", "parse"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.toolcalls.values import Verdict

MOMENTS = {
    "started": Moment.STARTED,
    "prompted": Moment.PROMPTED,
    "before": Moment.BEFORE,
    "after": Moment.AFTER,
    "compacted": Moment.COMPACTED,
    "stopped": Moment.STOPPED,
    "ended": Moment.ENDED,
    "subagent_started": Moment.SUBAGENT_STARTED,
    "subagent_stopped": Moment.SUBAGENT_STOPPED,
}
#: What is told at the others has no place to go to.
TELLING = frozenset(("started", "prompted", "after", "compacted", "subagent_started"))


def parse(payload: dict[str, Any], event: str) -> Heard:
    """Return what was heard; a session with a parent is a subagent of it."""
    event = word(payload, "event") or event
    if not event:
        raise bad("the call names no event")
    parent, session = word(payload, "parentID"), word(payload, "sessionID")
    heard = Heard(
        "opencode",
        MOMENTS.get(event, Moment.OTHER),
        session=parent or session,
        subagent=session if parent else "",
        subagent_type=word(payload, "agent") if parent else "",
        cwd=text(payload, "cwd"),
        model=word(payload, "model"),
        source=word(payload, "source"),
        event=event,
    )
    if heard.moment not in {Moment.BEFORE, Moment.AFTER}:
        return heard
    return called(
        heard, payload, word(payload, "tool"), payload.get("args"), word(payload, "callID")
    )


def can_tell(heard: Heard) -> bool:
    """Tell whether the model hears what is told at this event."""
    return heard.event in TELLING


def answer(verdict: Verdict, heard: Heard) -> Said:
    """Say a verdict to the plugin: ``deny`` is thrown, ``tell`` is added to what the model reads."""
    if verdict.word == Word.DENY and heard.moment == Moment.BEFORE:
        return spoken({"deny": verdict.text or "refused"})
    if verdict.word == Word.TELL and verdict.text and can_tell(heard):
        return spoken({"tell": verdict.text})
    return Said()
