"""Claims, queues, requests and decisions as lines: the reader's, and for a lead everybody's. Pure."""

from __future__ import annotations

from dibs.core.briefing.activity import listed, plural, reason_part, span
from dibs.core.briefing.mail import answer_hint, named
from dibs.core.briefing.neighbours import ConflictFinder, Neighbourhood
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN, ancestors, is_terminal
from dibs.core.talk.decision_rules import Voter, may_decide
from dibs.core.talk.decisions import CONFLICT, LEAD, Silence
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain_path, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dibs.core.briefing.snapshot import CrewState
    from dibs.core.claims.rules import Ask, Held, Waiter
    from dibs.core.talk.decisions import Decision

    Clock = Callable[[float], str]

#: How many lines a list has; the others are counted.
LISTED = 40


def own_sections(state: CrewState, clock: Clock) -> list[Section]:
    """Return the sections that concern the reader alone."""
    mine = [held for held in state.held if held.claim.agent == state.me]
    theirs = [held for held in state.held if held.claim.agent != state.me]
    near = Neighbourhood(held.claim.pattern for held in mine)
    close = [held for held in theirs if mine and near.near(held.claim.pattern)]
    to_decide, asked, _ = _decisions(state)
    return [
        *_section("YOUR CLAIMS", [_claim(held, clock) for held in mine], 2),
        *_section("YOUR QUEUE", _queue(state, theirs), 2),
        *_section("WAITING FOR YOU", _waiting(state, mine), 1),
        *_section("NEAR YOUR FILES", [_near(held) for held in close], 3),
        *_section("DECISIONS", to_decide + asked, 1),
    ]


def crew_sections(state: CrewState) -> list[Section]:
    """Return what others hold, and what waits for somebody other than the reader."""
    theirs = [held for held in state.held if held.claim.agent != state.me]
    waits = [_open_request(ask, held, state.now) for held in theirs for ask in held.asks]
    waits += _crew_queue(state) + _decisions(state)[2]
    return [
        *_section("HELD BY THE CREW", _crew_claims(state, theirs), 5),
        *_section("WAITING IN THE CREW", waits, 2),
    ]


def _section(title: str, lines: Sequence[Line], rank: int) -> list[Section]:
    """Return a section, unless it is empty; lines beyond the limit are counted."""
    more = len(lines) - LISTED
    rest = (Line(f"more under {title}", (f"- and {more} more",)),) if more > 0 else ()
    return [Section(title, (*lines[:LISTED], *rest), rank=rank)] if lines else []


def _name(pattern: str, claim: str) -> str:
    """Return how a key names a claim: by its pattern where that can be shown without a fence."""
    return pattern if is_plain_path(pattern) else claim


def _ago(now: float, at: float) -> ShownTime:
    return ShownTime(f", {span(now - at)} ago")


# -- claims


def _claim(held: Held, clock: Clock) -> Line:
    claim = held.claim
    until = ShownTime(f", until {clock(held.expires_at)}, {span(held.expires_in)} left")
    what = path(claim.pattern, claim.agent)
    parts = ("- ", what, f" ({claim.mode}, token {claim.token}", until, ")")
    return Line(f"your claim {_name(claim.pattern, claim.id)} {claim.mode}", parts)


def _near(held: Held) -> Line:
    claim = held.claim
    what, left = path(claim.pattern, claim.agent), ShownTime(f", {span(held.expires_in)} left")
    parts = (f"- {claim.agent} holds ", what, f" ({claim.mode}", left, ")",
             *reason_part(claim.reason, claim.agent))  # fmt: skip
    return Line(f"claim {_name(claim.pattern, claim.id)} {claim.mode} of {claim.agent}", parts)


def _crew_claims(state: CrewState, theirs: Sequence[Held]) -> list[Line]:
    """Return one line for each owner; the task that it reports names the claim on that task already."""
    busy = {agent.id for agent in state.agents if agent.task and not is_terminal(agent.status)}
    patterns: dict[str, list[str]] = {}
    for held in theirs:
        claim = held.claim
        if not (claim.agent in busy and claim.pattern.startswith("task:")):
            patterns.setdefault(claim.agent, []).append(claim.pattern)
    return [
        Line(f"claims of {agent}", (f"- {agent}: ", *listed(sorted(some), agent)))
        for agent, some in sorted(patterns.items())
    ]


# -- queues and requests


def _claims_of(held: Iterable[Held]) -> ConflictFinder:
    return ConflictFinder((n, one.claim.pattern, one.claim.mode) for n, one in enumerate(held))


def _wanted(waiter: Waiter) -> list[Part]:
    return listed(waiter.ticket.patterns, waiter.ticket.agent)


def _others(state: CrewState) -> list[Waiter]:
    return [waiter for waiter in state.queue if waiter.ticket.agent != state.me]


def _queue(state: CrewState, theirs: Sequence[Held]) -> list[Line]:
    """Return the reader's places, how many are before it, and who holds what it waits for."""
    own = [waiter for waiter in state.queue if waiter.ticket.agent == state.me]
    if not own:
        return []
    others = [waiter.ticket for waiter in _others(state)]
    queued = ConflictFinder((t.number, pattern, t.mode) for t in others for pattern in t.patterns)
    holding = _claims_of(theirs)
    lines = []
    for waiter in own:
        ticket = waiter.ticket
        before = sum(number < ticket.number for number in queued.of(ticket.patterns, ticket.mode))
        found = holding.of(ticket.patterns, ticket.mode)
        holders = [*dict.fromkeys(theirs[number].claim.agent for number in found)]
        now = "" if holders or before else ": claim it now"
        said = f"): place {before + 1}, held by {few(holders) or 'nobody'}{now}"
        parts = ("- ", *_wanted(waiter), f" ({ticket.mode}", said,
                 ShownTime(f", gives up in {span(waiter.gives_up_in)}"))  # fmt: skip
        lines.append(Line(f"your ticket {ticket.number}", parts))
    return lines


def _waiting(state: CrewState, mine: Sequence[Held]) -> list[Line]:
    """Return the requests for the reader's claims, and the tickets that wait for them."""
    requests = (m for m in state.mail if m.kind == MailKind.RELEASE_REQUEST)
    news = {message.id: named(message) for message in requests}
    lines = [_request(ask, held, state.now, news) for held in mine for ask in held.asks]
    own = _claims_of(mine)
    for waiter in _others(state) if mine else ():
        ticket = waiter.ticket
        if own.of(ticket.patterns, ticket.mode):
            since = ShownTime(f", for {span(state.now - ticket.since)}")
            parts = (f"- {ticket.agent} waits for ", *_wanted(waiter), f" ({ticket.mode}", since,
                     ")", *reason_part(ticket.reason, ticket.agent))  # fmt: skip
            lines.append(Line(f"ticket {ticket.number} of {ticket.agent}", parts))
    return lines


def _request(ask: Ask, held: Held, now: float, news: Mapping[str, Sequence[str]]) -> Line:
    """Return a request to the reader; one among the ``news`` is said by its message alone."""
    said = f"; you said {ask.answer}" if ask.answer in {"later", "no"} else ""
    when = f", in {span(ask.promised - now)}" if ask.promised > now else ", by now"
    promised = (ShownTime(when),) if ask.promised and said else ()
    within = ShownTime(f" within {span(ask.until - now)}")
    parts = (f"- {ask.asker} asks for ", path(ask.pattern, ask.asker), within, said, *promised,
             *reason_part(ask.note, ask.asker), "" if said else answer_hint(ask.id))  # fmt: skip
    told = "" if said or ask.pattern not in news.get(ask.id, ()) else ask.id
    key = f"request of {ask.asker} for {_name(ask.pattern, held.claim.id)}, claim {held.claim.id}"
    return Line(key, parts, said_by=told)


def _open_request(ask: Ask, held: Held, now: float) -> Line:
    """Return a request to somebody else."""
    holder = held.claim.agent
    parts: tuple[Part, ...] = ("; no answer yet", _ago(now, ask.at))
    if ask.answer:
        when = (ShownTime(f", in {span(ask.promised - now)}"),) if ask.promised else ()
        parts = (f"; {holder} said ", word(ask.answer, holder), *when)
    what = path(ask.pattern, ask.asker)
    key = f"request of {ask.asker} to {holder} for {_name(ask.pattern, held.claim.id)}"
    return Line(key, (f"- {ask.asker} asks {holder} for ", what, *parts))


def _crew_queue(state: CrewState) -> list[Line]:
    """Return who waits for whom, but for those that wait for the reader alone."""
    others = _others(state)
    holding = _claims_of(state.held if others else ())
    lines = []
    for waiter in others:
        ticket = waiter.ticket
        found = holding.of(ticket.patterns, ticket.mode)
        holders = {state.held[number].claim.agent for number in found} - {ticket.agent}
        if holders != {state.me}:
            by = f", held by {few(sorted(holders - {state.me})) or 'nobody'}"
            since = ShownTime(f", for {span(state.now - ticket.since)}")
            parts = (f"- {ticket.agent} waits for ", *_wanted(waiter), by, since)
            lines.append(Line(f"wait {ticket.number} of {ticket.agent}", parts))
    return lines


# -- decisions


def _decisions(state: CrewState) -> tuple[list[Line], list[Line], list[Line]]:
    """Return the pending decisions that the reader may decide, that it asked for, and all others."""
    me = next((agent for agent in state.agents if agent.id == state.me), None)
    voter = Voter(state.me, state.human, me.role if me else "")
    parents = {agent.id: agent.parent for agent in state.agents if agent.parent}
    to_decide, asked, others = [], [], []
    for one in state.pending:
        asker, now = one.asker, state.now
        if asker == state.me:
            after = ("; waits for ", _decider(one, "you"), *_terms(one, now))
            asked.append(_decision(one, now, ("you asked",), after))
        elif may_decide(one, voter, ancestors(asker, parents)):
            verbs = "revoke|refuse" if one.category == CONFLICT else "confirm|reject"
            how = f" - decide: dibs decide {verbs} {one.id}"
            after = (*reason_part(one.rationale, asker), *_terms(one, now), how)
            to_decide.append(_decision(one, now, (f"{asker} asks",), after))
        else:
            said = (f"{asker} waits for ", _decider(one, asker))
            others.append(_decision(one, now, said, key="open decision"))
    return to_decide, asked, others


def _decision(
    one: Decision,
    now: float,
    said: Iterable[Part],
    after: Iterable[Part] = (),
    key: str = "decision",
) -> Line:
    kind, title = word(one.category, one.asker), UntrustedText(one.title, one.asker)
    parts = (f"- {one.id} (", kind, ") ", *said, _ago(now, one.at), ": ", title, *after)
    return Line(f"{key} {one.id}", parts)


def _decider(one: Decision, asker: str) -> Part:
    """Return who may decide; ``asker`` is how the reader calls the agent that asked."""
    if one.decider in {HUMAN, LEAD}:
        return "a human" if one.decider == HUMAN else f"an agent above {asker}"
    return word(one.decider.removeprefix("agent:").removeprefix("role:"), one.asker)


def _terms(one: Decision, now: float) -> tuple[Part, ...]:
    """Return what silence means, from when, and how many have commented."""
    parts: tuple[Part, ...] = ()
    if one.deadline and one.silence in {Silence.ALLOW, Silence.DENY}:
        means = "confirms" if one.silence == Silence.ALLOW else "rejects"
        parts = (f"; silence {means} it", ShownTime(f" in {span(one.deadline - now)}"))
    if one.comments:
        parts += (f"; {plural(len(one.comments), 'comment')}: dibs decide show {one.id}",)
    return parts
