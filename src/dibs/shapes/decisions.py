"""Decisions as programs read them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.talk.decisions import Comment, Decision


def decision(value: Decision) -> dict[str, Any]:
    """Shape a decision; who decided is null while it waits, and where silence did."""
    return {
        "id": value.id, "title": value.title, "rationale": value.rationale,
        "category": value.category, "outcome": value.outcome, "asker": value.asker,
        "role": value.role, "at": value.at, "decider": value.decider, "silence": value.silence,
        "deadline": value.deadline or None, "decided_by": value.decided_by or None,
        "decided_at": value.decided_at or None, "reason": value.reason,
        "comments": [comment(said) for said in value.comments], "data": value.data,
    }  # fmt: skip


def comment(value: Comment) -> dict[str, Any]:
    """Shape what somebody said on a decision."""
    return {"at": value.at, "by": value.by, "role": value.role, "text": value.text}
