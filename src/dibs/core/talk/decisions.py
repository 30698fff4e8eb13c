"""Decisions as values. Pure: time is an argument."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The decider that means any agent above the asker.
LEAD = "lead"


class Outcome(metaclass=TextEnum):
    """The state of a decision."""

    RECORDED = "recorded"
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    #: No longer needed: the conflict ended, or the asker withdrew it.
    SETTLED = "settled"


class Comment(Record):
    """A comment on a decision."""

    at: float
    by: str
    role: str
    text: str


class Decision(Record):
    """Something decided, or to be decided. Secrets in its texts are already masked."""

    #: ``d`` and the number of its ledger entry.
    id: str
    at: float
    asker: str
    role: str
    title: str
    rationale: str
    outcome: str
    #: Who may decide: ``human``, ``lead``, ``agent:x``, or ``role:x``; a human always may.
    decider: str = HUMAN
    #: Whether it is a conflict over claims that was escalated to a human.
    conflict: bool = False
    decided_by: str = ""
    decided_at: float = 0.0
    reason: str = ""
    comments: tuple[Comment, ...] = ()
    #: Data for programs: the notices of deciders; for a conflict, its two sides.
    data: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed
