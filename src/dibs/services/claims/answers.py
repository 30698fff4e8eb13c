"""Reply to release requests: yes, later, or no. Each reply is one transaction."""

from __future__ import annotations

from dibs.core.claims.agents import check_speaker
from dibs.core.claims.ledger import Kind
from dibs.core.claims.release_requests import PROMISE_MAX, PROMISE_MIN, Reply
from dibs.core.claims.rules import check_text
from dibs.core.patterns.pattern import overlap
from dibs.core.talk.mail import MailKind
from dibs.core.text.durations import check_span, show_span
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput, NotFound
from dibs.services.claims.acquire import SHOWN
from dibs.services.claims.holdings import give_back
from dibs.services.state.mailbox import tell
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive, close_asks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Beat, Caller
    from dibs.core.claims.rules import Ask
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: A release request with the key of its row.
Filed = tuple[str, "Ask"]


class Answers:
    """The owner's side of a release request."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(
        self,
        caller: Caller,
        said: str,
        *,
        pattern: Pattern | None = None,
        message: str = "",
        note: str = "",
        within: object = None,
        to: str = "",
    ) -> list[Ask]:
        """Reply to the requests for claims that overlap ``pattern``, or to one ``message``.

        ``yes`` releases the claims at once, ``later`` promises to release them ``within`` a time, and
        ``no`` keeps them. With ``to``, only that agent gets a reply. Returns the requests with their replies.
        """
        span = check_reply(said, within)
        words = check_text(note, "note") if note else ""

        def step(rows: Rows) -> list[Ask]:
            check_speaker(caller)
            beat = arrive(rows, caller)
            filed = _meant(rows, caller.id, pattern, message, to)
            promised = rows.now + span if span is not None else 0.0
            answered = [
                (key, ask._replace(answer=said, answered=rows.now, promised=promised))
                for key, ask in filed
            ]
            if said == Reply.YES:
                _give(rows, caller.id, beat, answered)
            else:
                for _, ask in answered:
                    _keep(rows, ask)
            asks = [ask for _, ask in answered]
            _tell(rows, caller.id, (rows.beat(caller.id) or beat).role, asks, words, span)
            return asks

        return self._store.apply(step)


def check_reply(said: str, within: object) -> float | None:
    """Check a reply, and return the seconds that ``later`` promises."""
    if said not in tuple(Reply):
        message = f"unknown reply {quote(said)} (use yes, later, or no)"
        raise BadInput(message, code="REPLY", field="answer", hint=closest(said, tuple(Reply)))
    if said != Reply.LATER:
        if within is not None:
            message = f"--in goes with the reply later, not with {said}"
            raise BadInput(message, code="REPLY", field="in")
        return None
    if within is None:
        raise BadInput(
            "say when you will release it",
            code="REPLY",
            field="in",
            hint="for example: later --in 10m",
        )
    return check_span(within, PROMISE_MIN, PROMISE_MAX, field="in", code="WAIT_RANGE")


def _meant(rows: Rows, holder: str, pattern: Pattern | None, message: str, to: str) -> list[Filed]:
    """Return the requests that a reply is for; raise if there is none."""
    asks = list(rows.asks(holder))
    meant = [
        (key, ask)
        for key, ask in asks
        if (not to or ask.asker == to)
        and (not message or ask.id == message)
        and (pattern is None or overlap(rows.pattern(ask.pattern), pattern) is not None)
    ]
    if not meant:
        what = message or (quote(pattern.text) if pattern is not None else "anything")
        who = f"{quote(to)} has not asked" if to else "no one has asked"
        others = ", ".join(dict.fromkeys(f"{ask.asker} for {ask.pattern}" for _, ask in asks[:5]))
        raise NotFound(
            f"{who} you ({holder}) for {what}",
            code="NOT_ASKED",
            field="pattern",
            hint=f"open requests: {others}" if others else "you have no open release requests",
        )
    return meant


def _give(rows: Rows, holder: str, beat: Beat, answered: Sequence[Filed]) -> None:
    """Release the requested claims; the reply itself notifies the agents that asked."""
    close_asks(rows, answered)
    wanted = {rows.pattern(ask.pattern).key for _, ask in answered}
    mine = [
        (key, claim)
        for key, claim in claims_of(rows, holder)
        if rows.pattern(claim.pattern).key in wanted and rows.is_live(claim)
    ]
    give_back(rows, holder, beat, mine)


def _keep(rows: Rows, ask: Ask) -> None:
    """Store a request with its reply, and a deadline for a promise."""
    rows.put_ask(ask)
    if ask.promised:
        from dibs.services.claims.asks import expect_promise

        expect_promise(rows, ask)


def _tell(
    rows: Rows, holder: str, role: str, asks: Sequence[Ask], note: str, span: float | None
) -> None:
    """Notify each agent that asked once, and write ledger entries."""
    said, promised = asks[0].answer, asks[0].promised
    when = "" if span is None else f" in {show_span(span)}"
    for asker in dict.fromkeys(ask.asker for ask in asks):
        patterns = tuple(ask.pattern for ask in asks if ask.asker == asker)
        rows.emit(
            holder, role, Kind.RELEASE_ANSWERED,
            f"{holder} replied {said}{when} to {asker} on {', '.join(patterns[:5])}"
            + (f": {note}" if note else ""),
            asker=asker, patterns=patterns[:SHOWN], answer=said, promised=promised, note=note,
        )  # fmt: skip
        tell(
            rows, asker, MailKind.ANSWER, patterns, sender=holder,
            answer=said, promised=promised, span=when.strip(), reason=note,
        )  # fmt: skip
