"""What the rules of alerts need to know about a project at one moment."""

from __future__ import annotations

from dibs.startup.records import Record


class AgentFact(Record):
    """An agent that has not ended and is not known to be dead; never a human."""

    id: str
    #: Whether it reported that it works, and its turn is not over.
    running: bool
    #: When it last did something itself; heartbeats that others send for it do not count.
    active: float
    #: Whether it is in a turn and no tool runs, so that only its model can be at work.
    in_model_call: bool = False
    #: Whether something depends on it: it takes tasks, or holds a claim or a task.
    matters: bool = True
    #: The share of its context window in use, in percent; negative if unknown.
    context: float = -1.0
    #: Whether hooks guard it or an agent above it, and when it last wrote a file if not; 0 for never.
    guarded: bool = True
    wrote: float = 0.0
    #: How many ready tasks it could take; 0 if it takes no tasks or has one.
    could_take: int = 0


class DecisionFact(Record):
    """A pending decision."""

    id: str
    title: str
    asker: str
    at: float


class GrantFact(Record):
    """The live claims of one agent that were granted together."""

    agent: str
    token: int
    patterns: tuple[str, ...]
    since: float
    #: When they expire even if they are renewed.
    hard: float
    #: The last sign of work on them.
    active: float


class OverlapFact(Record):
    """Agents that changed the same file, or whose work would conflict."""

    agents: tuple[str, ...]
    paths: tuple[str, ...]
    #: How many paths there are.
    total: int
    forecast: bool = False


class AlertFacts(Record):
    """A project at one moment."""

    now: float
    agents: tuple[AgentFact, ...] = ()
    decisions: tuple[DecisionFact, ...] = ()
    grants: tuple[GrantFact, ...] = ()
    overlaps: tuple[OverlapFact, ...] = ()
    #: Whether hooks guard any agent of the project.
    anyone_guarded: bool = False
