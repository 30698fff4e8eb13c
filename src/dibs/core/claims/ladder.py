"""When a waiting agent automatically asks the owner, and when it escalates to a human.

Pure. The time counts from when both existed, the claim and the ticket, so an agent that has just been
granted a claim is not asked at once because others waited before.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


#: The limits of a promise, in seconds.
PROMISE_MIN, PROMISE_MAX = 1.0, 86_400.0


#: Claims that Dibs itself takes and releases; asking for one or escalating is pointless.
TURNS = ("@merge/", "@tasks/")


class Reply(metaclass=TextEnum):
    """An owner's reply to a release request."""

    YES = "yes"
    LATER = "later"
    NO = "no"


#: Sent instead of a reply when a promise was not kept.
BROKEN = "broken"


class Rung(metaclass=TextEnum):
    """An automatic step of a waiting agent."""

    ASK = "ask"
    ESCALATE = "escalate"


class EscalationTimes(Record):
    """After how many seconds each step is taken; 0 means never."""

    ask: float
    escalate: float

    @property
    def soonest(self) -> float:
        """The shorter of both, 0 if no step is ever taken."""
        return min((span for span in self if span), default=0.0)


def moments(policy: EscalationTimes, waits_since: float, held_since: float) -> dict[str, float]:
    """Return when each step is due for one claim and one waiter, or ``NEVER``.

    If both steps are enabled, the owner is asked no later than the escalation.
    """
    since = max(waits_since, held_since)
    escalate = since + policy.escalate if policy.escalate else NEVER
    ask = min(since + policy.ask, escalate) if policy.ask else NEVER
    return {Rung.ASK: ask, Rung.ESCALATE: escalate}


def due(at: dict[str, float], taken: AbstractSet[str], now: float) -> list[str]:
    """Return the steps that are due and not yet taken, in order."""
    return [rung for rung, moment in at.items() if rung not in taken and moment <= now]


def next_moment(at: dict[str, float], taken: AbstractSet[str]) -> float:
    """Return when the first step not yet taken is due, or ``NEVER``."""
    return min((moment for rung, moment in at.items() if rung not in taken), default=NEVER)
