"""Figures of a window: per file, per agent, and in total.

Pure and linear. Times outside the window do not count. Waiting counts once per agent, however many of its
requests wait, and not at all while the agent goes on working (``dibs claim --queue``). The overhead is the
share of the agents' time that they waited.
"""

from __future__ import annotations

from heapq import nsmallest

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.history.marks import COMMIT, DENIAL, EDIT, EXPIRY, KILL, MERGE, REFUSAL
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.history.spans import AgentSpan, ClaimSpan, Spans, TimelineMark
    from dibs.core.history.window import Window

    Interval = tuple[float, float]


class FileFigures(Record):
    """How contended a pattern was."""

    pattern: str
    agents: int
    claims: int
    held: float
    denied: int
    waits: int
    waited: float
    #: Who holds it now.
    owners: tuple[str, ...]


class AgentFigures(Record):
    """What an agent did, and how long it waited."""

    agent: str
    role: str
    present: float
    claims: int
    held: float
    edits: int
    commits: int
    tasks: int
    denied: int
    waits: int
    waited: float
    #: The share of its time that it waited, 0 to 1.
    overhead: float


class Totals(Record):
    """The whole window."""

    agents: int
    claims: int
    waits: int
    waited: float
    longest_wait: float
    denied: int
    refused: int
    expired: int
    killed: int
    commits: int
    merges: int
    tasks: int
    edits: int
    present: float
    overhead: float


class _PatternTally:
    """Counts for one pattern."""

    __slots__ = ("agent", "claims", "denied", "held", "others", "owners", "waited", "waits")

    def __init__(self, agent: str) -> None:
        #: Most patterns have one agent; a set for each of them would take most of the time.
        self.agent = agent
        self.others: set[str] | None = None
        self.owners: tuple[str, ...] = ()
        self.claims = self.denied = self.waits = 0
        self.held = self.waited = 0.0

    @property
    def agents(self) -> int:
        """How many agents wanted it."""
        return 1 + (len(self.others) if self.others else 0)

    @property
    def rank(self) -> tuple[float, ...]:
        """The most contended first."""
        return -self.waited, -self.denied, -self.agents, -self.claims


class _Tallies(dict[str, _PatternTally]):
    """The counts of all patterns."""

    def of(self, pattern: str, agent: str) -> _PatternTally:
        """Return the counts of a pattern that an agent wanted."""
        found = self.get(pattern)
        if found is None:
            found = self[pattern] = _PatternTally(agent)
        elif found.agent != agent:
            found.others = {agent} if found.others is None else found.others | {agent}
        return found


class _AgentTally:
    """Counts for one agent."""

    __slots__ = ("claims", "commits", "denied", "edits", "held", "tasks", "waits")

    def __init__(self) -> None:
        self.claims = self.denied = self.waits = self.edits = self.commits = self.tasks = 0
        self.held = 0.0

    def note(self, mark: TimelineMark) -> None:
        """Count something that the agent did."""
        if mark.group == DENIAL:
            self.denied += 1
        elif mark.group == COMMIT:
            self.commits += 1
        elif mark.group == EDIT:
            self.edits += mark.times
        elif mark.kind == Kind.TASK_COMPLETED:
            self.tasks += 1


def file_figures(spans: Spans, window: Window, most: int) -> tuple[list[FileFigures], int]:
    """Return the figures of the most contended patterns, and how many patterns there are."""
    tallies = _Tallies()
    tally = tallies.of
    for claim in spans.claims:
        one = tally(claim.pattern, claim.agent)
        one.claims += 1
        one.held += _inside(claim.begin, claim.end, window)
        if claim.end is None:
            one.owners = tuple(sorted({*one.owners, claim.agent}))
    for wait in spans.waits:
        waited = _inside(wait.begin, wait.end, window)
        for pattern in wait.patterns:
            one = tally(pattern, wait.agent)
            one.waits += 1
            one.waited += waited
    for mark in spans.marks:
        if mark.group == DENIAL:
            for pattern in mark.paths:
                tally(pattern, mark.agent).denied += 1
    chosen = nsmallest(most, tallies, key=lambda pattern: (tallies[pattern].rank, pattern))
    return [_file(pattern, tallies[pattern]) for pattern in chosen], len(tallies)


def _file(pattern: str, t: _PatternTally) -> FileFigures:
    return FileFigures(pattern, t.agents, t.claims, t.held, t.denied, t.waits, t.waited, t.owners)


def agent_figures(spans: Spans, window: Window) -> list[AgentFigures]:
    """Return the figures of every agent, in the order of their names; humans wait for no one."""
    tallies: dict[str, _AgentTally] = {}

    def tally(agent: str) -> _AgentTally:
        found = tallies.get(agent)
        if found is None:
            found = tallies[agent] = _AgentTally()
        return found

    for claim in spans.claims:
        one = tally(claim.agent)
        one.claims += _is_new(claim, window)
        one.held += _inside(claim.begin, claim.end, window)
    for wait in spans.waits:
        tally(wait.agent).waits += 1
    for mark in spans.marks:
        tally(mark.by or mark.agent).note(mark)
    waited, present = waiting(spans, window), presence(spans, window)
    roles = {span.agent: span.role for span in spans.agents}
    found = []
    for agent in sorted({*roles, *waited, *(claim.agent for claim in spans.claims)}):
        t = tally(agent)
        lost, there = length(waited.get(agent, ())), length(present.get(agent, ()))
        share = min(1.0, lost / there) if there > 0 else 0.0
        figures = AgentFigures(
            agent, roles.get(agent, ""), there, t.claims, t.held, t.edits, t.commits, t.tasks,
            t.denied, t.waits, lost, share,
        )  # fmt: skip
        found.append(figures)
    return found


def totals(spans: Spans, window: Window, agents: Iterable[AgentFigures]) -> Totals:
    """Return the figures of the whole window."""
    work = [one for one in agents if one.role != HUMAN]
    groups: dict[str, int] = {}
    for mark in spans.marks:
        groups[mark.group] = groups.get(mark.group, 0) + mark.times
    waited, present = sum(one.waited for one in work), sum(one.present for one in work)
    longest = max((_inside(w.begin, w.end, window) for w in spans.waits), default=0.0)
    return Totals(
        len(work),
        sum(_is_new(claim, window) for claim in spans.claims),
        len(spans.waits),
        waited,
        longest,
        groups.get(DENIAL, 0),
        groups.get(REFUSAL, 0),
        groups.get(EXPIRY, 0),
        groups.get(KILL, 0),
        groups.get(COMMIT, 0),
        groups.get(MERGE, 0),
        sum(mark.kind == Kind.TASK_COMPLETED for mark in spans.marks),
        groups.get(EDIT, 0),
        present,
        min(1.0, waited / present) if present > 0 else 0.0,
    )


def _is_new(claim: ClaimSpan, window: Window) -> bool:
    return claim.begin >= window.since and not claim.early


def waiting(spans: Spans, window: Window) -> dict[str, list[Interval]]:
    """Return when each agent waited, without overlaps; a request that it can leave alone does not count."""
    found: dict[str, list[Interval]] = {}
    for wait in spans.waits:
        if not wait.standing:
            found.setdefault(wait.agent, []).append(_clip(wait.begin, wait.end, window))
    return {agent: united(intervals) for agent, intervals in found.items()}


def presence(spans: Spans, window: Window) -> dict[str, list[Interval]]:
    """Return when each agent was present: until it left, or for a while after its last heartbeat."""
    found: dict[str, list[Interval]] = {}
    for span in spans.agents:
        found.setdefault(span.agent, []).append(_clip(span.begin, _end_of(span, window), window))
    for wait in spans.waits:
        if not wait.standing and wait.agent in found:
            found[wait.agent].append(_clip(wait.begin, wait.end, window))
    return {agent: united(intervals) for agent, intervals in found.items()}


def _end_of(span: AgentSpan, window: Window) -> float:
    return span.last + window.grace if span.end is None else span.end


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same time without overlaps."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return found


def length(intervals: Iterable[Interval]) -> float:
    """Return how long some intervals are together."""
    return sum(end - begin for begin, end in intervals)


def _clip(begin: float, end: float | None, window: Window) -> Interval:
    stop = window.until if end is None else min(end, window.until)
    start = max(begin, window.since)
    return start, max(start, stop)


def _inside(begin: float, end: float | None, window: Window) -> float:
    start, stop = _clip(begin, end, window)
    return stop - start
