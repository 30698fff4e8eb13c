"""Briefings as JSON."""

from __future__ import annotations

from dibs.shapes import claims
from dibs.shapes.decisions import decision
from dibs.shapes.mail import message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.briefing.snapshot import CrewState
    from dibs.core.claims.agents import Agent
    from dibs.services.briefing.service import Delivery


def briefing(value: Delivery | None) -> dict[str, Any]:
    """Shape a briefing; it has no number if it is not counted, and nulls if nothing is new."""
    if value is None:
        return {
            "number": None, "changed": False, "again": False, "mode": None, "digest": None,
            "text": "", "mail": [], "left": 0, "state": None,
        }  # fmt: skip
    return {
        "number": value.number or None, "changed": True, "again": value.again,
        "mode": value.mode, "digest": value.digest, "text": value.text + value.whole,
        "mail": list(value.mail), "left": value.left,
        "state": None if value.state is None else state(value.state),
    }  # fmt: skip


def state(value: CrewState) -> dict[str, Any]:
    """Shape the crew as one agent sees it."""
    return {
        "now": value.now,
        "agent": value.me,
        "agents": [_agent(agent) for agent in value.agents],
        "claims": [claims.held(held) for held in value.held],
        "queue": [claims.waiter(waiter) for waiter in value.queue],
        "mail": [message(one) for one in value.mail],
        "decisions": [decision(one) for one in value.pending],
        "tasks": value.tally._asdict(),
        "activity": [claims.entry(entry) for entry in value.activity],
    }


def _agent(value: Agent) -> dict[str, Any]:
    return {
        "id": value.id, "name": value.name, "role": value.role, "parent": value.parent or None,
        "status": value.status, "model": value.model, "task": value.task,
        "context": value.context if value.context >= 0 else None,
    }  # fmt: skip
