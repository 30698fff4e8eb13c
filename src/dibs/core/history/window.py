"""Cut a window out of the history: a part of time, and optionally one agent or one path.

Pure.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.log_filters import parse_date
from dibs.core.text.durations import parse_span
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, TypeVar

    from dibs.core.history.spans import Spans

    class _Span(Protocol):
        @property
        def begin(self) -> float: ...

        @property
        def end(self) -> float | None: ...

    S = TypeVar("S", bound=_Span)


class Window(Record):
    """What a timeline is about."""

    since: float
    until: float
    agent: str = ""
    #: Returns whether a pattern overlaps the path in question; None for every path.
    meets: Callable[[str], bool] | None = None
    #: How long after its last heartbeat an agent that has not left counts as present.
    grace: float = 0.0


#: Names the beginning of the ledger.
EVERYTHING = "all"
#: A smaller number is a duration; a larger one is Unix time of this century.
_EARLIEST = 1e9


def parse_moment(text: str, now: float, field: str) -> float:
    """Return the time that someone names: a duration before now, a date, Unix time, or everything."""
    if text == EVERYTHING:
        return 0.0
    try:
        span = parse_span(text)
    except BadInput:
        return _date(text, field)
    return span if span >= _EARLIEST else now - span


def _date(text: str, field: str) -> float:
    at = parse_date(text)
    if at is None:
        raise BadInput(
            f"{quote(text)} is not a duration or a time",
            code="SINCE",
            field=field,
            hint=f"for example 10m, 1d, 2026-01-31T14:00, or {EVERYTHING}",
        )
    return at


def cut_out(spans: Spans, window: Window) -> Spans:
    """Return the spans that touch a window, and the marks inside it."""
    since, until, agent, meets, _ = window

    def touches(begin: float, end: float | None, name: str) -> bool:
        return begin <= until and (end is None or end >= since) and (not agent or name == agent)

    def reaches(patterns: Sequence[str]) -> bool:
        return meets is None or any(map(meets, patterns))

    return spans._replace(
        claims=[
            c for c in spans.claims if touches(c.begin, c.end, c.agent) and reaches((c.pattern,))
        ],
        waits=[w for w in spans.waits if touches(w.begin, w.end, w.agent) and reaches(w.patterns)],
        agents=[a for a in spans.agents if touches(a.begin, a.end, a.agent)],
        tasks=[
            t
            for t in spans.tasks
            if touches(t.begin, t.end, t.agent) and reaches((f"task:{t.task}",))
        ],
        marks=[
            m
            for m in spans.marks
            if since <= m.at <= until
            and (not agent or agent in {m.agent, m.by})
            and reaches(m.paths)
        ],
    )


def newest(spans: Spans, most: int) -> tuple[Spans, float]:
    """Return at most this many of each list, and since when the lists are complete.

    What ended first is left out first, so that everything that ended after the returned time is there. It is
    0 if nothing is left out, and later than now if even open spans are.
    """
    claims, a = _latest(spans.claims, most)
    waits, b = _latest(spans.waits, most)
    agents, c = _latest(spans.agents, most)
    tasks, d = _latest(spans.tasks, most)
    marks = sorted(spans.marks, key=lambda mark: mark.seq)
    left = marks[-most - 1].at if len(marks) > most else 0.0
    kept = spans._replace(
        claims=claims, waits=waits, agents=agents, tasks=tasks, marks=marks[-most:]
    )
    return kept, max(a, b, c, d, left)


def _latest(spans: Sequence[S], most: int) -> tuple[list[S], float]:
    found, left = list(spans), 0.0
    if len(found) > most:
        found.sort(key=lambda span: (_end(span), span.begin))
        left = _end(found[-most - 1])
        found = found[-most:]
    return sorted(found, key=lambda span: span.begin), left


def _end(span: _Span) -> float:
    return NEVER if span.end is None else span.end
