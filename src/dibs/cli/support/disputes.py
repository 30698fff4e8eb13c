"""Both sides of a conflict as text for whoever decides, or looks."""

from __future__ import annotations

from dibs.cli.support.text import bold, clock, holder_line, span, waiter_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.rules import Ask
    from dibs.core.talk.decisions import Decision
    from dibs.services.claims.disputes import DisputeSide, Sides
    from dibs.shapes.quoting import Quoting


def side_lines(decision: Decision, value: Sides, quoted: Quoting) -> Iterator[str]:
    """Yield who holds it, who wants it, what was said, who else waits, and what each choice does."""
    now = value.now
    yield f"HOLDER  {_who(value.holder, now, quoted)}"
    for held in value.held:
        yield f"  {holder_line(held, quoted)}, since {clock(held.claim.since, now)}"
    if not value.held:
        yield "  holds none of it any more" if not value.open else "  holds it"
    yield f"ASKER   {_who(value.asker, now, quoted)}"
    asker = value.asker.id
    wanted = ", ".join(quoted.path(pattern, asker) for pattern in decision.data["wanted"])
    why = f" {quoted.said(decision.rationale, asker)}" if decision.rationale else ""
    yield f"  wants {wanted} ({decision.data['mode']}){why}"
    waiting = [w for w in value.queue if w.ticket.agent == decision.asker]
    for waiter in waiting:
        yield f"  waits since {clock(waiter.ticket.since, now)} ({span(now - waiter.ticket.since)})"
    if not waiting:
        yield "  does not wait in the queue"
    for ask in value.asks:
        yield f"  {_asked(ask, now, quoted)}"
    if not value.asks:
        yield "  has not asked the holder"
    yield f"QUEUE   {len(value.queue)} waiting"
    for waiter in value.queue:
        yield f"  {waiter_line(waiter, quoted)}"
    if value.open and decision.outcome == "pending":
        first = value.queue[0].ticket.agent if value.queue else ""
        other = f" ({first} is first in the queue)" if first not in {"", decision.asker} else ""
        holder = value.holder.id
        yield f"dibs decide revoke {decision.id}: {holder} loses it, {asker} is told{other}"
        yield f"dibs decide refuse {decision.id} --reason WHY: {holder} keeps it, {asker} is told"


def _who(side: DisputeSide, now: float, quoted: Quoting) -> str:
    agent = side.agent
    about = [] if agent is None else [quoted.word(agent.role, side.id)]
    if agent is not None and agent.task:
        about.append(f"task {quoted.word(agent.task, side.id)}")
    about.append(f"last heard of {span(now - side.seen)} ago" if side.seen else "has ended")
    return f"{bold(side.id)} ({', '.join(about)})"


def _asked(ask: Ask, now: float, quoted: Quoting) -> str:
    why = f" {quoted.said(ask.note, ask.asker)}" if ask.note else ""
    said = f"asked for {quoted.path(ask.pattern, ask.asker)} {span(now - ask.at)} ago{why}"
    if not ask.answer:
        return f"{said}; no answer"
    promised = f", by {clock(ask.promised, now)}" if ask.promised else ""
    return f"{said}; {span(now - ask.answered)} ago the answer was {ask.answer}{promised}"
