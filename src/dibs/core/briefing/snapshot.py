"""The input of a briefing: the crew as one agent sees it at one moment. Pure."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Agent
    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Held, Waiter
    from dibs.core.talk.decisions import Decision
    from dibs.core.talk.mail import Message
    from dibs.core.tasks.rules import Task


class Tally(Record):
    """Progress of the board."""

    total: int = 0
    done: int = 0
    #: Canceled tasks.
    skipped: int = 0
    blocked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class CrewState(Record):
    """Everything that a briefing for one agent can report."""

    now: float
    me: str
    human: bool
    #: All agents on the roster, including the reader.
    agents: tuple[Agent, ...] = ()
    #: All live claims with their release requests, including the reader's.
    held: tuple[Held, ...] = ()
    #: All live tickets.
    queue: tuple[Waiter, ...] = ()
    #: Messages to deliver, oldest first.
    mail: tuple[Message, ...] = ()
    #: All pending decisions, oldest first.
    pending: tuple[Decision, ...] = ()
    tally: Tally = Tally()
    #: The last heartbeat of each agent; only for a lead.
    seen: dict[str, float] = {}  # noqa: RUF012 - a default of a record, never changed
    #: Unfinished tasks that the reader sent or received; only for an agent that gets the whole state.
    delegations: tuple[Task, ...] = ()
    #: Recent ledger entries of others, oldest first.
    activity: tuple[Entry, ...] = ()
    #: What each agent does at the moment, as listings show it.
    doing: dict[str, str] = {}  # noqa: RUF012 - a default of a record, never changed
