"""All that a briefing is made of: the crew as one agent sees it at one moment. Pure."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Held, Waiter
    from dibs.core.talk.decisions import Decision
    from dibs.core.talk.mail import Message


class Tally(Record):
    """How far the board is."""

    total: int = 0
    done: int = 0
    #: Cancelled: nobody has to do it any more.
    skipped: int = 0
    blocked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class CrewState(Record):
    """What there is to tell one agent."""

    now: float
    me: str
    human: bool
    #: Everybody who ever joined and was not forgotten, the reader too.
    agents: tuple[Agent, ...] = ()
    #: All live claims, the reader's too, each with those who ask for it.
    held: tuple[Held, ...] = ()
    #: All live tickets.
    queue: tuple[Waiter, ...] = ()
    #: What waits to be told, oldest first.
    mail: tuple[Message, ...] = ()
    #: All pending decisions, oldest first.
    pending: tuple[Decision, ...] = ()
    tally: Tally = Tally()
    #: When each agent was last heard of, where a lead looks.
    seen: dict[str, float] = {}  # noqa: RUF012 - a default of a record, never changed
    #: What others did lately, oldest first.
    activity: tuple[Entry, ...] = ()
