"""What concerns one agent itself, as lines of a briefing. Pure.

Its claims and queues, who waits for it, who works near its files, and decisions that are open.
"""

from __future__ import annotations

from dibs.core.briefing.activity import listed
from dibs.core.briefing.mail import answer_hint, named, span
from dibs.core.briefing.neighbours import ConflictFinder, Neighbourhood
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN, ancestors
from dibs.core.talk.decision_rules import Voter, may_decide
from dibs.core.talk.decisions import CONFLICT, LEAD, Silence
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain_path, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.core.briefing.snapshot import Snapshot
    from dibs.core.claims.rules import Ask, Held, Waiter
    from dibs.core.talk.decisions import Decision

    Clock = Callable[[float], str]

#: How many lines a list has; what is behind them is counted.
LISTED = 40
_REQUEST = MailKind.RELEASE_REQUEST


def own_sections(sight: Snapshot, clock: Clock) -> list[Section]:
    """Return the sections that concern the reader alone."""
    mine = [held for held in sight.held if held.claim.agent == sight.me]
    theirs = [held for held in sight.held if held.claim.agent != sight.me]
    near = Neighbourhood(held.claim.pattern for held in mine)
    close = [held for held in theirs if mine and near.near(held.claim.pattern)]
    found = [
        ("YOUR CLAIMS", [_claim(held, clock) for held in mine], 2),
        ("YOUR QUEUE", _queue(sight, theirs), 2),
        ("WAITING FOR YOU", _waiting(sight, mine), 1),
        ("NEAR YOUR FILES", [_near(held) for held in close], 3),
        ("DECISIONS", _decisions(sight), 1),
    ]
    return [Section(name, counted(lines, name), rank=rank) for name, lines, rank in found if lines]


def counted(lines: Sequence[Line], title: str) -> tuple[Line, ...]:
    """Return as many lines as a list has, and how many there are besides."""
    more = len(lines) - LISTED
    if more <= 0:
        return tuple(lines)
    return (*lines[:LISTED], Line(f"more under {title}", (f"- and {more} more",)))


def claim_name(pattern: str, claim: str) -> str:
    """Return how a key names a claim: by its pattern where that can be shown without a fence."""
    return pattern if is_plain_path(pattern) else claim


def _left(held: Held) -> ShownTime:
    return ShownTime(f", {span(held.expires_in)} left")


def _why(reason: str, origin: str) -> tuple[Part, ...]:
    return (" - ", UntrustedText(reason, origin)) if reason else ()


def _claim(held: Held, clock: Clock) -> Line:
    claim = held.claim
    until = ShownTime(f", until {clock(held.expires_at)}, {span(held.expires_in)} left")
    parts = (
        "- ",
        path(claim.pattern, claim.agent),
        f" ({claim.mode}, token {claim.token}",
        until,
        ")",
    )
    return Line(f"your claim {claim_name(claim.pattern, claim.id)} {claim.mode}", parts)


def _near(held: Held) -> Line:
    claim = held.claim
    what = path(claim.pattern, claim.agent)
    parts = (f"- {claim.agent} holds ", what, f" ({claim.mode}", _left(held), ")",
             *_why(claim.reason, claim.agent))  # fmt: skip
    return Line(f"claim {claim_name(claim.pattern, claim.id)} {claim.mode} of {claim.agent}", parts)


# -- queues


def _queue(sight: Snapshot, theirs: Sequence[Held]) -> list[Line]:
    """Return the reader's places, who is before it, and who holds what it waits for."""
    own = [waiter for waiter in sight.queue if waiter.ticket.agent == sight.me]
    if not own:
        return []
    others = [w.ticket for w in sight.queue if w.ticket.agent != sight.me]
    queued = ConflictFinder((t.number, pattern, t.mode) for t in others for pattern in t.patterns)
    holding = ConflictFinder((n, h.claim.pattern, h.claim.mode) for n, h in enumerate(theirs))
    lines = []
    for waiter in own:
        ticket = waiter.ticket
        before = sum(number < ticket.number for number in queued.of(ticket.patterns, ticket.mode))
        found = holding.of(ticket.patterns, ticket.mode)
        holders = [*dict.fromkeys(theirs[number].claim.agent for number in found)]
        by = f"held by {few(holders) or 'nobody'}"
        now = "" if holders or before else ": claim it now"
        parts = ("- ", *wanted(waiter), f" ({ticket.mode}): place {before + 1}, {by}{now}",
                 ShownTime(f", gives up in {span(waiter.gives_up_in)}"))  # fmt: skip
        lines.append(Line(f"your ticket {ticket.number}", parts))
    return lines


def wanted(waiter: Waiter) -> list[Part]:
    """Return the parts of a list of what somebody waits for."""
    ticket = waiter.ticket
    return listed(ticket.patterns, ticket.agent)


def _waiting(sight: Snapshot, mine: Sequence[Held]) -> list[Line]:
    """Return who asks the reader for its claims, and who stands in a queue for them."""
    news = {message.id: named(message) for message in sight.mail if message.kind == _REQUEST}
    lines = [_ask(ask, held, sight.now, news) for held in mine for ask in held.asks]
    others = [w for w in sight.queue if w.ticket.agent != sight.me]
    if not mine or not others:
        return lines
    own = ConflictFinder((n, held.claim.pattern, held.claim.mode) for n, held in enumerate(mine))
    for waiter in others:
        ticket = waiter.ticket
        if own.of(ticket.patterns, ticket.mode):
            since = ShownTime(f", for {span(sight.now - ticket.since)}")
            parts = (f"- {ticket.agent} waits for ", *wanted(waiter), f" ({ticket.mode}", since,
                     ")", *_why(ticket.reason, ticket.agent))  # fmt: skip
            lines.append(Line(f"ticket {ticket.number} of {ticket.agent}", parts))
    return lines


def _ask(ask: Ask, held: Held, now: float, news: Mapping[str, Sequence[str]]) -> Line:
    """Return a request; where it is among the ``news``, its message says it, and it is not said twice."""
    said = f"; you said {ask.answer}" if ask.answer in {"later", "no"} else ""
    when = f", in {span(ask.promised - now)}" if ask.promised > now else ", by now"
    promised = (ShownTime(when),) if ask.promised and said else ()
    within = ShownTime(f" within {span(ask.until - now)}")
    how = "" if said else answer_hint(ask.id)
    parts = (f"- {ask.asker} asks for ", path(ask.pattern, ask.asker), within, said, *promised,
             *_why(ask.note, ask.asker), how)  # fmt: skip
    what = claim_name(ask.pattern, held.claim.id)
    told = "" if said or ask.pattern not in news.get(ask.id, ()) else ask.id
    return Line(f"request of {ask.asker} for {what}, claim {held.claim.id}", parts, said_by=told)


# -- decisions


def _decisions(sight: Snapshot) -> list[Line]:
    """Return what the reader may decide, then what it asked for itself."""
    mine = [one for one in sight.pending if one.asker == sight.me]
    for_me = _decidable(sight)
    return [_to_decide(one, sight.now) for one in for_me] + [_asked(one, sight.now) for one in mine]


def _decidable(sight: Snapshot) -> list[Decision]:
    me = next((agent for agent in sight.agents if agent.id == sight.me), None)
    voter = Voter(sight.me, sight.human, me.role if me else "")
    parents = {agent.id: agent.parent for agent in sight.agents if agent.parent}
    return [
        one
        for one in sight.pending
        if one.asker != sight.me and may_decide(one, voter, ancestors(one.asker, parents))
    ]


def for_others(sight: Snapshot) -> list[Decision]:
    """Return the pending decisions that neither the reader asked for nor may decide."""
    own = {one.id for one in _decidable(sight)}
    return [one for one in sight.pending if one.asker != sight.me and one.id not in own]


def _to_decide(one: Decision, now: float) -> Line:
    verbs = "revoke|refuse" if one.category == CONFLICT else "confirm|reject"
    parts = (
        f"- {one.id} (", word(one.category, one.asker), f") {one.asker} asks",
        ShownTime(f", {span(now - one.at)} ago"), ": ", UntrustedText(one.title, one.asker),
        *_why(one.rationale, one.asker), *_terms(one, now), f" - decide: dibs decide {verbs} {one.id}",
    )  # fmt: skip
    return Line(f"decision {one.id}", parts)


def _asked(one: Decision, now: float) -> Line:
    parts = (
        f"- {one.id} (", word(one.category, one.asker), ") you asked",
        ShownTime(f", {span(now - one.at)} ago"), ": ", UntrustedText(one.title, one.asker),
        "; waits for ", decider(one, "you"), *_terms(one, now),
    )  # fmt: skip
    return Line(f"decision {one.id}", parts)


def decider(one: Decision, asker: str) -> Part:
    """Return who may decide; ``asker`` is how the reader calls who asked for it."""
    if one.decider in {HUMAN, LEAD}:
        return "a human" if one.decider == HUMAN else f"an agent above {asker}"
    return word(one.decider.removeprefix("agent:").removeprefix("role:"), one.asker)


def _terms(one: Decision, now: float) -> tuple[Part, ...]:
    """Return what silence means, from when, and how many have said something."""
    parts: tuple[Part, ...] = ()
    if one.deadline and one.silence in {Silence.ALLOW, Silence.DENY}:
        means = "confirms" if one.silence == Silence.ALLOW else "rejects"
        parts = (f"; silence {means} it", ShownTime(f" in {span(one.deadline - now)}"))
    if one.comments:
        count = len(one.comments)
        parts += (f"; {count} comment{'s' if count > 1 else ''}: dibs decide show {one.id}",)
    return parts
