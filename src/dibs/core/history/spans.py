"""What a timeline consists of: spans with a beginning and an end, and marks at one moment.

Pure. An ``end`` of None means that the span is open. ``early`` means that it began before the first known
entry, whose time is then its ``begin``.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class ClaimEnd(metaclass=TextEnum):
    """How a claim ended; an open one has the empty text."""

    OPEN = ""
    RELEASED = "released"
    EXPIRED = "expired"
    #: Its owner's process died.
    DIED = "died"
    REVOKED = "revoked"
    TRANSFERRED = "transferred"
    #: Its owner was stopped.
    STOPPED = "stopped"
    #: Its owner claimed the same pattern again, in another mode.
    REPLACED = "replaced"
    #: The store was replaced.
    VOID = "void"
    #: Nobody holds it now, and no known entry says why.
    UNKNOWN = "unknown"


class WaitEnd(metaclass=TextEnum):
    """How a wait ended; an open one has the empty text."""

    OPEN = ""
    GRANTED = "granted"
    GAVE_UP = "gave_up"
    DEADLOCK = "deadlock"
    #: Its agent sent no heartbeat.
    SILENT = "silent"
    #: It did not claim in its turn.
    MISSED_TURN = "missed_turn"
    #: Its agent ended.
    ENDED = "ended"
    #: A human refused it.
    REFUSED = "refused"
    UNKNOWN = "unknown"


class ClaimSpan(Record):
    """A claim from its grant to its end."""

    agent: str
    pattern: str
    mode: str
    #: 0 if unknown.
    token: int
    begin: float
    end: float | None
    early: bool
    how: str
    #: Who revoked it, stopped its owner, or received it.
    by: str
    reason: str
    task: str


class WaitSpan(Record):
    """A request in the queue."""

    agent: str
    ticket: int
    patterns: tuple[str, ...]
    mode: str
    begin: float
    end: float | None
    how: str
    #: Who was in the way when it joined the queue.
    blocked_by: tuple[str, ...]
    #: When it was its turn, of a request that stays in the queue.
    turn: float | None
    #: Whether its agent went on working meanwhile (``dibs claim --queue``).
    standing: bool


class StatusChange(Record):
    """What an agent said about itself at one moment."""

    at: float
    status: str
    task: str


class AgentSpan(Record):
    """An agent from joining to leaving."""

    agent: str
    role: str
    parent: str
    begin: float
    end: float | None
    early: bool
    #: ``exited``, ``completed``, ``failed``, ``crashed``, or ``terminated``; empty while it works.
    how: str
    #: Who stopped it.
    by: str
    changes: tuple[StatusChange, ...]
    #: Its last heartbeat, entry, or exit.
    last: float


class TaskSpan(Record):
    """A task in one state."""

    task: str
    state: str
    agent: str
    attempt: int
    begin: float
    end: float | None
    early: bool


class TimelineMark(Record):
    """Something that happened at one moment."""

    seq: int
    at: float
    #: Whom it concerns; ``by`` did it, if that is someone else.
    agent: str
    by: str
    kind: str
    #: One of ``GROUPS``.
    group: str
    text: str
    paths: tuple[str, ...]
    #: How many of it: the files of an edit.
    times: int = 1


class Spans(Record):
    """Everything that a replay of the ledger found, each list in the order of its ends or moments."""

    claims: Sequence[ClaimSpan]
    waits: Sequence[WaitSpan]
    agents: Sequence[AgentSpan]
    tasks: Sequence[TaskSpan]
    marks: Sequence[TimelineMark]
    #: The time of the first known entry; None without one.
    first: float | None
    #: How many entries were read.
    entries: int
