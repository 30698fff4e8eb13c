"""Decisions as JSON."""

from __future__ import annotations

from dibs.shapes import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.talk.decisions import Comment, Decision
    from dibs.services.claims.disputes import DisputeSide, Sides


def decision(value: Decision) -> dict[str, Any]:
    """Shape a decision; ``decided_by`` is null while it is pending, or if the conflict ended."""
    return {
        "id": value.id, "title": value.title, "rationale": value.rationale,
        "conflict": value.conflict, "outcome": value.outcome, "asker": value.asker,
        "role": value.role, "at": value.at, "decider": value.decider,
        "decided_by": value.decided_by or None, "decided_at": value.decided_at or None,
        "reason": value.reason, "comments": [comment(said) for said in value.comments], "data": value.data,
    }  # fmt: skip


def one(value: Decision, both: Sides | None = None) -> dict[str, Any]:
    """Shape an answer with one decision, and both sides of a conflict if it is one."""
    more = {} if both is None else {"sides": sides(both)}
    return {"decision": decision(value), **more}


def decided(values: Sequence[Decision]) -> dict[str, Any]:
    """Shape decisions that were made together."""
    return {"decided": [decision(value) for value in values]}


def listed(values: Sequence[Decision], left: int) -> dict[str, Any]:
    """Shape the newest decisions, and how many older ones there are."""
    return {"decisions": [decision(value) for value in values], "left": left}


def comment(value: Comment) -> dict[str, Any]:
    """Shape a comment on a decision."""
    return {"at": value.at, "by": value.by, "role": value.role, "text": value.text}


def sides(value: Sides) -> dict[str, Any]:
    """Shape both sides of a conflict."""
    return {
        "open": value.open,
        "holder": {**_side(value.holder, value.now), "claims": [claims.held(h) for h in value.held]},
        "asker": {**_side(value.asker, value.now), "asks": [claims.ask(a) for a in value.asks]},
        "queue": [claims.waiter(w) for w in value.queue],
    }  # fmt: skip


def _side(side: DisputeSide, now: float) -> dict[str, Any]:
    agent = side.agent
    return {
        "agent": side.id,
        "role": agent.role if agent is not None else None,
        "task": agent.task if agent is not None else None,
        "silent_for": round(now - side.seen, 3) if side.seen else None,
    }


def escalation(decision: Decision) -> dict[str, Any]:
    """Shape an escalation."""
    data = decision.data
    return {
        "decision": decision.id, "outcome": decision.outcome, "title": decision.title,
        "asker": decision.asker, "holder": data["holder"], "patterns": data["patterns"],
        "wanted": data["wanted"], "ticket": data["ticket"] or None, "at": decision.at,
        "note": decision.rationale,
    }  # fmt: skip
