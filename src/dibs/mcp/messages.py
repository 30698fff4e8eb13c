"""The words of an answer: text of others in a fence, what to do next, and errors with field and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.rules import Denied
from dibs.core.text.durations import show_span
from dibs.core.text.untrusted import clean
from dibs.errors import BadInput, DibsError
from dibs.shapes.quoting import LIMIT, Quoting

if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.rules import Queued

#: Errors that say no more than the caller's own words and names of agents.
_OWN_WORDS = frozenset({
    "NOT_HELD", "NOT_YOU", "NO_TASK", "NO_AGENT", "QUEUE_EMPTY", "NOTHING_CHANGED", "NO_ADDRESSEE",
    "NO_MESSAGE", "NO_DECISION", "RATE_LIMITED", "BOX_FULL", "UNAVAILABLE", "STORE_BUSY", "INTERNAL",
    "GLOB_TOO_BROAD",
})  # fmt: skip


def refused_next(value: Denied | Queued) -> list[str]:
    """Say what an agent that was not granted a claim can do by these tools, the best first."""
    if isinstance(value, Denied) and value.why == "deadlock":
        return [
            "Do not wait: release something that the others in the circle wait for, then try again.",
            "Work on something else: status shows who holds what.",
        ]
    if isinstance(value, Denied) and value.why == "refused":
        return [
            f"Do not ask again: {value.by} decided it ({value.decision}).",
            "Work on something else: status shows what is free.",
        ]
    soonest = show_span(round(min((c.expires_in for c in value.conflicts), default=0.0)))
    ask = ["Call ask: its holder is told that you need it."]
    held = any(not conflict.ticket for conflict in value.conflicts)
    return [
        "Do not edit these files now.",
        "Work on something else and come back, or call wait with the same paths.",
        *(ask if held else []),
        f"The first obstacle ends in {soonest} unless its holder shows up again.",
    ]


def failure(error: DibsError) -> dict[str, Any]:
    """Shape a broken promise as all surfaces do; words that others may have written are fenced."""
    from dibs.shapes import claims

    quoted = Quoting(None, [error.message, error.hint])
    own = isinstance(error, BadInput) and not error.code.startswith(("TASK", "DECIDED"))
    ours = own or error.code in _OWN_WORDS
    message = clean(error.message, LIMIT) if ours else quoted(error.message, "dibs")
    envelope = claims.error(error)["error"]
    hint = clean(error.hint, LIMIT) if error.hint else None
    answer: dict[str, Any] = {"error": {**envelope, "message": message, "hint": hint}}
    return {**answer, "note": quoted.note} if quoted.note else answer
