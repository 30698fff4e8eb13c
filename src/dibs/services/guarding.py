"""What hooks of coding agents ask and hear: one call, one verdict.

A call is a sign of life of its agent. Before a tool runs, its paths are judged and claimed in one transaction;
see services/admission.py. Whoever stands in the way is looked at first: an agent whose process is gone holds
nothing any more; see services/departures.py.
"""

from __future__ import annotations

import time
from functools import partial

from dibs.core.agents import Caller
from dibs.core.guarding import Policy, Refused
from dibs.core.toolcalls import PASSED, Moment, Verdict, Word
from dibs.errors import NotAllowed
from dibs.services.admission import Admission
from dibs.services.presence import arrive
from dibs.services.sessions import note_process, seated, speaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.ancestry import Running
    from dibs.core.toolcalls import Heard, Touch
    from dibs.repository import Repository
    from dibs.services.admission import Decided
    from dibs.services.book import Book
    from dibs.services.departures import Departures
    from dibs.services.desk import Desk
    from dibs.services.sessions import Seat, Speaker
    from dibs.services.touched import Touched

#: Whoever waits for a hot file looks again after so long, in seconds, at the soonest.
SHORTEST_PAUSE = 0.02
_STARTS = frozenset({Moment.STARTED, Moment.COMPACTED, Moment.SUBAGENT_STARTED})


class Guarding:
    """Answers the hooks of coding agents in one project."""

    def __init__(self, desk: Desk, repository: Repository) -> None:
        self._desk = desk
        self._repository = repository
        config = desk.config
        self._policy = Policy(
            auto_claim=config.guard_auto_claim,
            free=config.guard_free,
            human=config.guard_human,
            hot=config.guard_hot,
            reads=config.guard_reads,
            steering=_steers if config.commit_guarded == "human" else None,
            fold_case=desk.fold_case,
        )
        self._admission = Admission(desk, self._policy)

    def hear(
        self,
        heard: Heard,
        process: int | Running = 0,
        environ: Mapping[str, str] | None = None,
        *,
        tells: bool = True,
    ) -> Verdict:
        """Answer one call. ``process`` is the number of the hook's process, or the agent's own process.

        ``environ`` is that of the hook. ``tells`` says whether the agent hears what is told at this moment:
        where it does not, nothing is prepared, so that no mail is lost.
        """
        who = speaker(process, environ or {}, heard.agent, self._repository.root)
        try:
            return self._answer(heard, who, tells=tells)
        except NotAllowed as stopped:
            if stopped.code != "AGENT_STOPPED":
                raise
            return _stopped(heard, stopped)

    def _answer(self, heard: Heard, who: Speaker, *, tells: bool) -> Verdict:
        moment = heard.moment
        if moment == Moment.BEFORE:
            return self._before(heard, who, tells=tells)
        if moment in _STARTS:
            return self._started(heard, who, tells=tells)
        if moment == Moment.ENDED:
            return self._ended(heard, who)
        seat = self._arrive(heard, who)
        if moment == Moment.PROMPTED and tells:
            return self._brief(seat)
        return PASSED

    # -- moments

    def _started(self, heard: Heard, who: Speaker, *, tells: bool) -> Verdict:
        seat = self._arrive(heard, who, noted=True)
        return self._brief(seat, full=True) if tells else PASSED

    def _ended(self, heard: Heard, who: Speaker) -> Verdict:
        self._departures.end(heard)
        return PASSED

    def _before(self, heard: Heard, who: Speaker, *, tells: bool) -> Verdict:
        paths = self._paths(heard, heard.touches)
        decided = self._decide(heard, who, paths)
        if decided.new:
            note_process(self._repository.state, decided.seat)
        if decided.refused:
            return self._refusal(decided)
        return PASSED

    # -- steps

    def _paths(self, heard: Heard, touches: Sequence[Touch]) -> list[Touched]:
        if not touches:
            return []
        from dibs.services.touched import touched

        return touched(self._repository, touches, heard.cwd, fold_case=self._desk.fold_case)

    def _decide(self, heard: Heard, who: Speaker, paths: Sequence[Touched]) -> Decided:
        """Decide. Who is in the way is looked at first; for a file that all need, wait a moment."""

        def run(*, looked: bool = True, last: bool = False) -> Decided:
            step = partial(self._admission.decide, heard=heard, who=who, paths=paths)
            return self._desk.apply(partial(step, looked=looked, last=last))

        decided = run(looked=False)
        new = decided.new
        if decided.conflicts or decided.silent:
            names = {c.holder for c in decided.conflicts} | set(decided.silent)
            self._departures.gone(names)
            decided = run()
        if decided.may_wait:
            decided = self._wait(run, decided)
        decided = run(last=True) if decided.conflicts else decided
        return decided._replace(new=new)

    def _wait(self, run: Callable[[], Decided], decided: Decided) -> Decided:
        """Wait in line for a file that all need."""
        give_up = time.monotonic() + self._desk.config.guard_hot_wait
        newest = self._desk.engine.wait(0, 0)
        while decided.may_wait and (left := give_up - time.monotonic()) > 0:
            soonest = min((c.expires_in for c in decided.conflicts), default=0.0)
            newest = self._desk.engine.wait(newest, max(SHORTEST_PAUSE, min(left, soonest)))
            decided = run()
        return decided

    @property
    def _departures(self) -> Departures:
        from dibs.services.departures import Departures

        return Departures(self._desk, self._repository)

    def _arrive(self, heard: Heard, who: Speaker, *, noted: bool = False) -> Seat:
        """Take a call as a sign of life; whoever is new joins by it."""

        def step(book: Book) -> tuple[Seat, bool]:
            _, seat, new = seated(book, heard, who)
            arrive(book, Caller(seat.id, "agent"))
            return seat, new

        seat, new = self._desk.apply(step)
        if new or noted:
            note_process(self._repository.state, seat)
        return seat

    def _brief(self, seat: Seat, *, full: bool = False) -> Verdict:
        from dibs.services.briefing import Briefings

        delivery = Briefings(self._desk).prepare(Caller(seat.id, "agent"), full=full)
        if delivery is None:
            return PASSED._replace(reader=seat.id)
        text = delivery.text + delivery.whole
        return Verdict(Word.TELL, text, delivery=delivery.number, reader=seat.id)

    def _refusal(self, decided: Decided) -> Verdict:
        from secrets import token_hex

        from dibs.core.guard_words import note, refusal

        text = refusal(decided.refused, partial(token_hex, 4))
        seat = decided.seat.id
        return Verdict(Word.DENY, text, note(seat, decided.refused), reader=seat)


def _steers(path: str) -> bool:
    from dibs.core.scope import guarded

    return guarded(path)


def _stopped(heard: Heard, stopped: NotAllowed) -> Verdict:
    """Answer an agent that somebody stopped: no tool of it runs, and nothing else is said."""
    if heard.moment != Moment.BEFORE:
        return PASSED
    from secrets import token_hex

    from dibs.core.guard_words import refusal

    reason = stopped.message.partition(": ")[2]
    text = refusal([Refused(".", "stopped", reason=reason)], partial(token_hex, 4))
    return Verdict(Word.DENY, text, f"dibs: {stopped.message}")
