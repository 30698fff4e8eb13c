"""Decisions: what was decided, what waits for somebody, and who that may be.

Pure: records come in as values, time comes in as ``now``.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The category of a conflict that was put before a human; nobody asks for it by name.
CONFLICT = "conflict"

#: What stands for whoever is above the asker, where it does not name one who decides.
LEAD = "lead"


class Outcome(metaclass=TextEnum):
    """Where a decision stands."""

    RECORDED = "recorded"
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    #: It became needless: the conflict is over, or its asker took it back.
    SETTLED = "settled"


class Silence(metaclass=TextEnum):
    """What it means that nobody decided by the deadline."""

    WAIT = "wait"
    ALLOW = "allow"
    DENY = "deny"


class Comment(Record):
    """What somebody said on a decision."""

    at: float
    by: str
    role: str
    text: str


class Decision(Record):
    """Something decided, or to be decided. Its texts are already masked."""

    #: ``d`` and the number of the ledger entry that brought it.
    id: str
    at: float
    asker: str
    role: str
    title: str
    rationale: str
    category: str
    outcome: str
    #: Who may decide: ``human``, ``lead``, ``agent:x`` or ``role:x``; a human always may.
    decider: str = HUMAN
    #: What silence means here, fixed when it was asked.
    silence: str = Silence.WAIT
    #: When silence counts; 0 for never.
    deadline: float = 0.0
    decided_by: str = ""
    decided_at: float = 0.0
    reason: str = ""
    comments: tuple[Comment, ...] = ()
    #: What programs need: why silence means what it does; for a conflict its two sides.
    data: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed
