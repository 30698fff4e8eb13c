"""Figures over time: one value for each of some equal steps of a window.

Pure and linear. Levels (claims held, agents waiting, agents present) are the highest in a step, so that a
short peak is visible at any scale.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.ledger import Kind
from dibs.core.history.figures import presence, waiting
from dibs.core.history.marks import COMMIT, DENIAL, MERGE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.history.figures import Interval
    from dibs.core.history.spans import Spans
    from dibs.core.history.window import Window

#: How many steps a window has.
STEPS = 120


class Series(Record):
    """Values over time, one for each step."""

    begin: float
    step: float
    held: list[int]
    waiting: list[int]
    agents: list[int]
    denied: list[int]
    commits: list[int]
    tasks: list[int]
    #: The share of the agents' time that they waited, 0 to 1.
    overhead: list[float]


def series(spans: Spans, window: Window, steps: int = STEPS) -> Series:
    """Return the figures of a window over time."""
    since, until = window.since, max(window.until, window.since)
    step = (until - since) / steps or 1.0
    axis = _Axis(since, until, step, steps)
    humans = {span.agent for span in spans.agents if span.role == HUMAN}
    waits = [
        i for agent, some in waiting(spans, window).items() if agent not in humans for i in some
    ]
    there = [
        i for agent, some in presence(spans, window).items() if agent not in humans for i in some
    ]
    held = [(claim.begin, until if claim.end is None else claim.end) for claim in spans.claims]
    lost, present = axis.shares(waits), axis.shares(there)
    return Series(
        since,
        step,
        axis.levels(held),
        axis.levels(waits),
        axis.levels(there),
        axis.counts(mark.at for mark in spans.marks if mark.group == DENIAL),
        axis.counts(mark.at for mark in spans.marks if mark.group in {COMMIT, MERGE}),
        axis.counts(mark.at for mark in spans.marks if mark.kind == Kind.TASK_COMPLETED),
        [min(1.0, a / b) if b > 0 else 0.0 for a, b in zip(lost, present, strict=True)],
    )


class _Axis(Record):
    """The steps of a window."""

    since: float
    until: float
    step: float
    steps: int

    def at(self, moment: float) -> int:
        """Return the step of a moment."""
        return min(self.steps - 1, max(0, int((moment - self.since) / self.step)))

    def counts(self, moments: Iterable[float]) -> list[int]:
        """Return how many moments are in each step."""
        found = [0] * self.steps
        for moment in moments:
            found[self.at(moment)] += 1
        return found

    def levels(self, intervals: Sequence[Interval]) -> list[int]:
        """Return the most intervals at one moment of each step."""
        turns: dict[float, int] = {}
        for begin, end in intervals:
            start = max(begin, self.since)
            turns[start] = turns.get(start, 0) + 1
            if end < self.until:
                turns[end] = turns.get(end, 0) - 1
        found = [0] * self.steps
        level, place = 0, 0
        for moment in sorted(turns):
            reached = self.at(moment)
            while place < reached:
                place += 1
                # What ends as a step begins is not part of it.
                begins = place == reached and moment <= self.since + place * self.step
                found[place] = 0 if begins else level
            level += turns[moment]
            found[place] = max(found[place], level)
        for rest in range(place + 1, self.steps):
            found[rest] = level
        return found

    def shares(self, intervals: Iterable[Interval]) -> list[float]:
        """Return how many seconds of the intervals are in each step."""
        found, changes = [0.0] * self.steps, [0.0] * (self.steps + 1)
        for begin, end in intervals:
            first, last = self.at(begin), self.at(end)
            if first == last:
                found[first] += end - begin
                continue
            found[first] += self.since + (first + 1) * self.step - begin
            found[last] += end - (self.since + last * self.step)
            changes[first + 1] += self.step
            changes[last] -= self.step
        full = 0.0
        for place in range(self.steps):
            full += changes[place]
            found[place] += full
        return found
