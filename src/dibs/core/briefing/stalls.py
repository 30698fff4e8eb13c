"""What a lead has to know of claims: what its crew holds, and who waits for whom. Pure."""

from __future__ import annotations

from dibs.core.briefing.activity import listed
from dibs.core.briefing.mail import span
from dibs.core.briefing.neighbours import ConflictFinder
from dibs.core.briefing.own import claim_name, counted, decider, for_others, wanted
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import is_terminal
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.briefing.snapshot import Snapshot
    from dibs.core.claims.rules import Ask, Held, Waiter
    from dibs.core.talk.decisions import Decision

_NAMED = 3


def stall_sections(sight: Snapshot) -> list[Section]:
    """Return what others hold, and what stands still because somebody else has to act.

    What concerns the reader itself has its own sections.
    """
    theirs = [held for held in sight.held if held.claim.agent != sight.me]
    waits = [_ask(ask, held, sight.now) for held in theirs for ask in held.asks]
    waits += _queued(sight) + [_decision(one, sight.now) for one in for_others(sight)]
    found = [("HELD BY THE CREW", _held(sight, theirs), 5), ("WAITING IN THE CREW", waits, 2)]
    return [Section(name, counted(lines, name), rank=rank) for name, lines, rank in found if lines]


def _held(sight: Snapshot, theirs: Sequence[Held]) -> list[Line]:
    """Return one line for each that holds something; a task that it tells of names that claim already."""
    busy = {agent.id for agent in sight.agents if agent.task and not is_terminal(agent.status)}
    patterns: dict[str, list[str]] = {}
    for held in theirs:
        claim = held.claim
        if not (claim.agent in busy and claim.pattern.startswith("task:")):
            patterns.setdefault(claim.agent, []).append(claim.pattern)
    return [
        Line(f"claims of {agent}", (f"- {agent}: ", *listed(sorted(some), agent)))
        for agent, some in sorted(patterns.items())
    ]


def _ask(ask: Ask, held: Held, now: float) -> Line:
    holder = held.claim.agent
    parts: list[Part] = [f"- {ask.asker} asks {holder} for ", path(ask.pattern, ask.asker)]
    if ask.answer:
        parts += [f"; {holder} said ", word(ask.answer, holder)]
        parts += [ShownTime(f", in {span(ask.promised - now)}")] if ask.promised else []
    else:
        parts += ["; no answer yet", ShownTime(f", {span(now - ask.at)} ago")]
    what = claim_name(ask.pattern, held.claim.id)
    return Line(f"request of {ask.asker} to {holder} for {what}", tuple(parts))


def _queued(sight: Snapshot) -> list[Line]:
    """Return who stands in a queue, and for whom; whoever waits for the reader alone is told elsewhere."""
    others = [waiter for waiter in sight.queue if waiter.ticket.agent != sight.me]
    if not others:
        return []
    rivals = ConflictFinder(
        (n, held.claim.pattern, held.claim.mode) for n, held in enumerate(sight.held)
    )
    lines = []
    for waiter in others:
        found = rivals.of(waiter.ticket.patterns, waiter.ticket.mode)
        holders = {sight.held[number].claim.agent for number in found} - {waiter.ticket.agent}
        if holders != {sight.me}:
            lines.append(_waiter(waiter, sorted(holders - {sight.me}), sight.now))
    return lines


def _waiter(waiter: Waiter, holders: Sequence[str], now: float) -> Line:
    ticket = waiter.ticket
    more = f" and {len(holders) - _NAMED} more" if len(holders) > _NAMED else ""
    by = f"held by {', '.join(holders[:_NAMED])}{more}" if holders else "held by nobody"
    since = ShownTime(f", for {span(now - ticket.since)}")
    parts = (f"- {ticket.agent} waits for ", *wanted(waiter), f", {by}", since)
    return Line(f"wait {ticket.number} of {ticket.agent}", parts)


def _decision(one: Decision, now: float) -> Line:
    parts = (
        f"- {one.id} (", word(one.category, one.asker), f") {one.asker} waits for ", decider(one, one.asker),
        ShownTime(f", {span(now - one.at)} ago"), ": ", UntrustedText(one.title, one.asker),
    )  # fmt: skip
    return Line(f"open decision {one.id}", parts)
