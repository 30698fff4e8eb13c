"""Delegated tasks as JSON."""

from __future__ import annotations

from dibs.services.board.delegation import Repeated
from dibs.shapes import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.tasks.similarity import Similarity
    from dibs.services.board.delegation import Delegated

    Shape = dict[str, Any]


def answer(value: Delegated | Repeated) -> Shape:
    """Shape the result of a delegation: ``delegated``, or ``similar`` if nothing was sent."""
    similar = [alike(one) for one in value.alike]
    if isinstance(value, Repeated):
        steps = ["leave it to its owner", "send it anyway: repeat the command without --strict"]
        return {"outcome": "similar", "task": None, "told": [], "similar": similar, "next": steps}
    undo = f"if it is the same work, cancel yours: {cancel_command(value)}"
    return {**_sent("delegated", value), "similar": similar, "next": [undo] if similar else []}


def cancel_command(value: Delegated) -> str:
    """Return the command that cancels work that was just sent."""
    return f"dibs delegate --cancel {value.stored.id}"


def cancelled(value: Delegated) -> Shape:
    """Shape a canceled delegation."""
    return _sent("cancelled", value)


def _sent(word: str, value: Delegated) -> Shape:
    task = tasks.stored(value.stored)
    return {"outcome": word, "task": task, "told": list(value.to), "ended": list(value.ended)}


def alike(value: Similarity) -> Shape:
    """Shape work that is similar to the new task."""
    return {
        "task": value.id or None, "agent": value.agent or None, "title": value.title,
        "share": round(value.share, 2), "paths": list(value.paths),
    }  # fmt: skip
