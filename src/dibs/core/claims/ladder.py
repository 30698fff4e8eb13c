"""When a waiter asks, and when it puts the conflict before a human, without being told to.

Pure. A conflict has three answers: wait, ask, escalate. Whoever waits climbs from one to the next as time
passes. The time that counts is how long this claim has stood in the way of this waiter: since the later of
both came. Somebody who has only just got its turn is not asked at once because others waited before.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


#: How soon, in seconds, a holder may promise to give a claim back.
PROMISE_MIN, PROMISE_MAX = 1.0, 86_400.0


#: Turns that Dibs itself takes and gives back: who asks for one, or puts it before a human, gains nothing.
TURNS = ("@merge/", "@tasks/")


class Reply(metaclass=TextEnum):
    """What a holder answers to whoever asks for its claim."""

    YES = "yes"
    LATER = "later"
    NO = "no"


#: What an asker hears, in place of an answer, when a promise was not kept.
BROKEN = "broken"


class Rung(metaclass=TextEnum):
    """A step that a waiter takes by itself."""

    ASK = "ask"
    ESCALATE = "escalate"


class EscalationTimes(Record):
    """After how many seconds each step is taken; 0 for never."""

    ask: float
    escalate: float

    @property
    def soonest(self) -> float:
        """The shorter of both spans, 0 if no step is ever taken."""
        return min((span for span in self if span), default=0.0)


def moments(policy: EscalationTimes, waits_since: float, held_since: float) -> dict[str, float]:
    """Return when each step is due for one claim in the way of one waiter; ``NEVER`` for never.

    Where both steps are taken, nobody is put before a human who was not asked: the holder is asked with
    the escalation at the latest.
    """
    since = max(waits_since, held_since)
    escalate = since + policy.escalate if policy.escalate else NEVER
    ask = min(since + policy.ask, escalate) if policy.ask else NEVER
    return {Rung.ASK: ask, Rung.ESCALATE: escalate}


def due(at: dict[str, float], taken: AbstractSet[str], now: float) -> list[str]:
    """Return the steps whose moment has come and that were not taken yet, in order."""
    return [rung for rung, moment in at.items() if rung not in taken and moment <= now]


def next_moment(at: dict[str, float], taken: AbstractSet[str]) -> float:
    """Return the moment of the first step that was not taken yet, ``NEVER`` if there is none."""
    return min((moment for rung, moment in at.items() if rung not in taken), default=NEVER)
