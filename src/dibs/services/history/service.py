"""The history of a project: what its ledger tells about a part of time, completed by the state now."""

from __future__ import annotations

from contextlib import suppress

from dibs.core.claims.probes import is_probe_agent, is_probe_claim
from dibs.core.history.figures import AgentFigures, FileFigures, Totals, agent_figures, file_figures
from dibs.core.history.figures import totals as total_figures
from dibs.core.history.replay import StateNow
from dibs.core.history.series import Series, series
from dibs.core.history.window import Window, cut_out, newest, parse_moment
from dibs.core.patterns.pattern import overlap, parse
from dibs.errors import BadInput
from dibs.services.claims.agents import agents_in
from dibs.services.claims.views import waiting_in
from dibs.services.history.kept import kept_for
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.history.spans import Spans
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many spans and marks of each sort a timeline has unless the caller says otherwise, and at most.
SHOWN, MOST = 5_000, 50_000
#: How many patterns have figures.
MOST_FILES = 500
#: How much earlier than the window entries are read from the monthly files, for claims that began before it.
LEAD = 24 * 3600.0
#: With one of these, a pattern is not the same as the name of a file.
_SPECIAL = frozenset("*?[]{}!\\")


class Timeline(Record):
    """A part of a project's history."""

    now: float
    since: float
    until: float
    #: The time of the first known entry; None if there is none.
    known_since: float | None
    #: Everything that ended later is in the lists.
    complete_since: float
    truncated: bool
    spans: Spans
    series: Series
    files: list[FileFigures]
    work: list[AgentFigures]
    totals: Totals


class History:
    """Reads the history of one project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def timeline(
        self,
        since: str,
        until: str = "",
        *,
        agent: str = "",
        paths: Sequence[Pattern] = (),
        most: int = SHOWN,
    ) -> Timeline:
        """Return what happened between two times, to any of some paths if there are any.

        A time is a duration before now, Unix time, a date, or ``all``.
        """
        with kept_for(self._store.engine) as kept:
            now, last, state = self._store.look(_read)
            start = parse_moment(since, now, "since")
            stop = min(now, parse_moment(until, now, "until")) if until else now
            if start > stop:
                raise BadInput(
                    "the beginning is after the end", code="SINCE", field="since",
                    hint="for example --since 2d --until 1d",
                )  # fmt: skip
            spans = kept.replay(self._store, last, start - LEAD).spans(state)
            oldest = kept.oldest
        meets = self._meets(paths) if paths else None
        found = figured(spans, now, Window(start, stop, agent, meets, self._store.config.ttl), most)
        if found.known_since is None or oldest is None:
            return found
        return found._replace(known_since=min(oldest, found.known_since))

    def _meets(self, paths: Sequence[Pattern]) -> Callable[[str], bool]:
        known: dict[str, bool] = {}

        def meets(text: str) -> bool:
            answer = known.get(text)
            if answer is None:
                answer = any(overlap(a, b) is not None for a in self._read_as(text) for b in paths)
                known[text] = answer
            return answer

        return meets

    def _read_as(self, text: str) -> Iterator[Pattern]:
        """Yield a text of an entry as a pattern, and as the name of a file, which commits have."""
        for literal in (False, True) if _SPECIAL.intersection(text) else (False,):
            with suppress(BadInput):
                yield parse(text, literal=literal, fold_case=self._store.fold_case)


def figured(spans: Spans, now: float, window: Window, most: int) -> Timeline:
    """Return the part of a history in a window, from the first entry on, with its figures."""
    if spans.first is not None:
        window = window._replace(since=max(window.since, min(spans.first, window.until)))
    inside = cut_out(spans, window)
    shown, complete = newest(inside, most)
    work = agent_figures(inside, window)
    files, patterns = file_figures(inside, window, MOST_FILES)
    return Timeline(
        now, window.since, window.until, spans.first,
        max(window.since, min(complete, window.until)),
        complete > 0 or patterns > MOST_FILES, shown, series(inside, window),
        files, work, total_figures(inside, window, work),
    )  # fmt: skip


def _read(rows: Rows) -> tuple[float, int, StateNow]:
    """Return the time, the number of the newest entry, and the state at that moment."""
    newest_entry = next(rows.events(newest_first=True), None)
    claims = []
    for _, claim in rows.claims():
        if not is_probe_claim(claim):
            ends = rows.deadline(claim)
            claims.append((claim, ends if ends <= rows.now else None))
    tickets = frozenset(waiter.ticket.number for waiter in waiting_in(rows))
    agents = {
        seen.agent.id: (seen.agent, seen.last_seen)
        for seen in agents_in(rows, 0.0)
        if rows.beat(seen.agent.id) is not None and not is_probe_agent(seen.agent.id)
    }
    last = newest_entry.seq if newest_entry is not None else 0
    return rows.now, last, StateNow(claims, tickets, agents)
