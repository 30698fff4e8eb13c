"""Claims, queues, requests, and decisions as lines: the reader's, and for a lead the whole crew's. Pure."""

from __future__ import annotations

from dibs.core.briefing.activity import listed, reason_part, span
from dibs.core.briefing.mail import answer_hint, named
from dibs.core.briefing.neighbors import ConflictFinder, Neighborhood
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN, ancestors, is_terminal
from dibs.core.talk.decision_rules import Voter, may_decide
from dibs.core.talk.decisions import LEAD
from dibs.core.talk.mail import MailKind
from dibs.core.text.names import few, plural
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain_path, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dibs.core.briefing.snapshot import CrewState
    from dibs.core.claims.rules import Ask, Held, Waiter
    from dibs.core.talk.decisions import Decision

    Clock = Callable[[float], str]

#: A list shows at most this many lines and counts the rest.
LISTED = 40


def own_sections(state: CrewState, clock: Clock) -> list[Section]:
    """Return the sections that concern the reader alone."""
    mine = [held for held in state.held if held.claim.agent == state.me]
    theirs = [held for held in state.held if held.claim.agent != state.me]
    near = Neighborhood(held.claim.pattern for held in mine)
    close = [held for held in theirs if mine and near.near(held.claim.pattern)]
    to_decide, asked, _ = _decisions(state)
    return [
        *_section("YOUR CLAIMS", [_claim(held, clock, token=not state.human) for held in mine], 2),
        *_section("YOUR QUEUE", _queue(state, theirs), 2),
        *_section("WAITING FOR YOU", _waiting(state, mine), 1),
        *_section("NEAR YOUR FILES", [_near(held) for held in close], 3),
        *_section("DECISIONS", to_decide + asked, 1),
    ]


def crew_sections(state: CrewState) -> list[Section]:
    """Return what others hold, and what waits for someone other than the reader."""
    theirs = [held for held in state.held if held.claim.agent != state.me]
    waits = [_open_request(ask, held, state.now) for held in theirs for ask in held.asks]
    waits += _crew_queue(state) + _decisions(state)[2]
    return [
        *_section("CREW CLAIMS", _crew_claims(state, theirs), 5),
        *_section("CREW REQUESTS", waits, 2),
    ]


def _section(title: str, lines: Sequence[Line], rank: int) -> list[Section]:
    """Return a section unless it is empty; count the lines beyond the limit."""
    more = len(lines) - LISTED
    rest = (Line(f"more under {title}", (f"- and {more} more",)),) if more > 0 else ()
    return [Section(title, (*lines[:LISTED], *rest), rank=rank)] if lines else []


def _name(pattern: str, claim: str) -> str:
    """Return a claim's name in a key: its pattern if that needs no fence."""
    return pattern if is_plain_path(pattern) else claim


def _ago(now: float, at: float) -> ShownTime:
    return ShownTime(f", {span(now - at)} ago")


# -- claims


def _claim(held: Held, clock: Clock, *, token: bool) -> Line:
    claim = held.claim
    until = ShownTime(f", expires in {span(held.expires_in)}, at {clock(held.expires_at)}")
    what = path(claim.pattern, claim.agent)
    number = f", token {claim.token}" if token else ""
    parts = ("- ", what, f" ({claim.mode}{number}", until, ")")
    return Line(f"your claim {_name(claim.pattern, claim.id)} {claim.mode}", parts)


def _near(held: Held) -> Line:
    claim = held.claim
    what = path(claim.pattern, claim.agent)
    left = ShownTime(
        ", does not expire while it runs"
        if held.while_running
        else f", expires in {span(held.expires_in)}"
    )
    parts = (f"- {claim.agent} holds ", what, f" ({claim.mode}", left, ")",
             *reason_part(claim.reason, claim.agent))  # fmt: skip
    return Line(f"{claim.agent}'s claim {_name(claim.pattern, claim.id)} {claim.mode}", parts)


def _crew_claims(state: CrewState, theirs: Sequence[Held]) -> list[Line]:
    """Return one line for each owner, without the claim on a task that the owner already reports."""
    busy = {agent.id for agent in state.agents if agent.task and not is_terminal(agent.status)}
    patterns: dict[str, list[str]] = {}
    for held in theirs:
        claim = held.claim
        if not (claim.agent in busy and claim.pattern.startswith("task:")):
            patterns.setdefault(claim.agent, []).append(claim.pattern)
    return [
        Line(f"{agent}'s claims", (f"- {agent}: ", *listed(sorted(some), agent)))
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
    """Return the reader's queue entries: its position, and who holds what it waits for."""
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
        now = "" if before else ": claim it now"
        owner = f"held by {few(holders)}" if holders else f"unclaimed{now}"
        parts = ("- ", *_wanted(waiter), f" ({ticket.mode}): position {before + 1}, {owner}",
                 ShownTime(f", times out in {span(waiter.gives_up_in)}"))  # fmt: skip
        lines.append(Line(f"your ticket {ticket.number}", parts))
    return lines


def _waiting(state: CrewState, mine: Sequence[Held]) -> list[Line]:
    """Return the requests for the reader's claims, and the agents waiting for them."""
    requests = (m for m in state.mail if m.kind == MailKind.RELEASE_REQUEST)
    news = {message.id: named(message) for message in requests}
    lines = [_request(ask, held, state.now, news) for held in mine for ask in held.asks]
    own = _claims_of(mine)
    for waiter in _others(state) if mine else ():
        ticket = waiter.ticket
        if own.of(ticket.patterns, ticket.mode):
            since = ShownTime(f", for {span(state.now - ticket.since)}")
            parts = (f"- {ticket.agent} is waiting for ", *_wanted(waiter), f" ({ticket.mode}", since,
                     ")", *reason_part(ticket.reason, ticket.agent))  # fmt: skip
            lines.append(Line(f"{ticket.agent}'s ticket {ticket.number}", parts))
    return lines


def _request(ask: Ask, held: Held, now: float, news: Mapping[str, Sequence[str]]) -> Line:
    """Return a request to the reader; the message itself replaces one among the ``news``."""
    said = f"; you replied {ask.answer}" if ask.answer in {"later", "no"} else ""
    when = f", due in {span(ask.promised - now)}" if ask.promised > now else ", due now"
    promised = (ShownTime(when),) if ask.promised and said else ()
    within = ShownTime(f", needed within {span(ask.until - now)}")
    parts = (f"- {ask.asker} requested ", path(ask.pattern, ask.asker), within, said, *promised,
             *reason_part(ask.note, ask.asker), "" if said else answer_hint(ask.id))  # fmt: skip
    told = "" if said or ask.pattern not in news.get(ask.id, ()) else ask.id
    key = f"{ask.asker}'s request for {_name(ask.pattern, held.claim.id)}, claim {held.claim.id}"
    return Line(key, parts, said_by=told)


def _open_request(ask: Ask, held: Held, now: float) -> Line:
    """Return a request to another agent."""
    holder = held.claim.agent
    parts: tuple[Part, ...] = (_ago(now, ask.at), "; no reply yet")
    if ask.answer:
        when = (ShownTime(f", due in {span(ask.promised - now)}"),) if ask.promised else ()
        parts = (f"; {holder} replied ", word(ask.answer, holder), *when)
    what = path(ask.pattern, ask.asker)
    key = f"{ask.asker}'s request to {holder} for {_name(ask.pattern, held.claim.id)}"
    return Line(key, (f"- {ask.asker} requested ", what, f" from {holder}", *parts))


def _crew_queue(state: CrewState) -> list[Line]:
    """Return who waits for whom, without those that wait for the reader alone."""
    others = _others(state)
    holding = _claims_of(state.held if others else ())
    lines = []
    for waiter in others:
        ticket = waiter.ticket
        found = holding.of(ticket.patterns, ticket.mode)
        holders = {state.held[number].claim.agent for number in found} - {ticket.agent}
        if holders != {state.me}:
            owners = few(sorted(holders - {state.me}))
            by = f", held by {owners}" if owners else ", unclaimed"
            since = ShownTime(f", for {span(state.now - ticket.since)}")
            parts = (f"- {ticket.agent} is waiting for ", *_wanted(waiter), by, since)
            lines.append(Line(f"{ticket.agent}'s wait {ticket.number}", parts))
    return lines


# -- decisions


def _decisions(state: CrewState) -> tuple[list[Line], list[Line], list[Line]]:
    """Return the pending decisions that the reader may make, that it asked for, and all others."""
    me = next((agent for agent in state.agents if agent.id == state.me), None)
    voter = Voter(state.me, state.human, me.role if me else "")
    parents = {agent.id: agent.parent for agent in state.agents if agent.parent}
    to_decide, asked, others = [], [], []
    for one in state.pending:
        asker, now = one.asker, state.now
        if asker == state.me:
            after = ("; waiting for ", _decider(one, "you"), *_comments(one))
            asked.append(_decision(one, now, ("you asked",), after))
        elif may_decide(one, voter, ancestors(asker, parents)):
            yes, no = ("revoke", "refuse") if one.conflict else ("confirm", "reject")
            how = f" - `dibs decide {yes} {one.id}` or `dibs decide {no} {one.id} --reason WHY`"
            after = (*reason_part(one.rationale, asker), *_comments(one), how)
            to_decide.append(_decision(one, now, (f"{asker} asked",), after))
        else:
            said = (f"{asker} is waiting for ", _decider(one, asker))
            others.append(_decision(one, now, said, key="open decision"))
    return to_decide, asked, others


def _decision(
    one: Decision,
    now: float,
    said: Iterable[Part],
    after: Iterable[Part] = (),
    key: str = "decision",
) -> Line:
    kind, title = "(conflict) " if one.conflict else "", UntrustedText(one.title, one.asker)
    parts = (f"- {one.id} {kind}", *said, _ago(now, one.at), ": ", title, *after)
    return Line(f"{key} {one.id}", parts)


def _decider(one: Decision, asker: str) -> Part:
    """Return who may decide; ``asker`` is what the line calls the agent that asked."""
    if one.decider in {HUMAN, LEAD}:
        return "a human" if one.decider == HUMAN else f"an agent above {asker}"
    return word(one.decider.removeprefix("agent:").removeprefix("role:"), one.asker)


def _comments(one: Decision) -> tuple[Part, ...]:
    if not one.comments:
        return ()
    return (f"; {plural(len(one.comments), 'comment')}: `dibs decide show {one.id}`",)
