"""Decisions as values. Pure: time is an argument."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The category of a conflict escalated to a human; nobody asks for it by name.
CONFLICT = "conflict"

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


class Silence(metaclass=TextEnum):
    """What happens if nobody decides by the deadline."""

    WAIT = "wait"
    ALLOW = "allow"
    DENY = "deny"


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
    category: str
    outcome: str
    #: Who may decide: ``human``, ``lead``, ``agent:x``, or ``role:x``; a human always may.
    decider: str = HUMAN
    #: What happens at the deadline, fixed when it was asked.
    silence: str = Silence.WAIT
    #: The deadline; 0 for none.
    deadline: float = 0.0
    decided_by: str = ""
    decided_at: float = 0.0
    reason: str = ""
    comments: tuple[Comment, ...] = ()
    #: Data for programs: the policy behind the deadline; for a conflict, its two sides.
    data: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed
