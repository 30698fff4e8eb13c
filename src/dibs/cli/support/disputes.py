"""Print both sides of a conflict for the person who decides."""

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
    """Yield the owner, the agent that asks, the queue, and what each decision does."""
    now = value.now
    yield f"OWNER     {_who(value.holder, now, quoted)}"
    for held in value.held:
        yield f"  {holder_line(held, quoted)}, since {clock(held.claim.since, now)}"
    if not value.held:
        yield "  no longer holds any of it" if not value.open else "  holds it"
    yield f"WANTED BY {_who(value.asker, now, quoted)}"
    asker = value.asker.id
    wanted = ", ".join(quoted.path(pattern, asker) for pattern in decision.data["wanted"])
    why = f" {quoted.said(decision.rationale, asker)}" if decision.rationale else ""
    yield f"  wants {wanted} ({decision.data['mode']}){why}"
    waiting = [w for w in value.queue if w.ticket.agent == decision.asker]
    for waiter in waiting:
        yield f"  waiting since {clock(waiter.ticket.since, now)} ({span(now - waiter.ticket.since)})"
    if not waiting:
        yield "  is not in the queue"
    for ask in value.asks:
        yield f"  {_asked(ask, now, quoted)}"
    if not value.asks:
        yield "  has not requested it from the owner"
    yield f"QUEUE     {len(value.queue)} waiting"
    for waiter in value.queue:
        yield f"  {waiter_line(waiter, quoted)}"
    if value.open and decision.outcome == "pending":
        first = value.queue[0].ticket.agent if value.queue else ""
        other = f" ({first} is first in the queue)" if first not in {"", decision.asker} else ""
        holder = value.holder.id
        yield f"take it from {holder}{other}: dibs decide revoke {decision.id}"
        yield f"let {holder} keep it: dibs decide refuse {decision.id} --reason WHY"


def _who(side: DisputeSide, now: float, quoted: Quoting) -> str:
    agent = side.agent
    about = [] if agent is None else [quoted.word(agent.role, side.id)]
    if agent is not None and agent.task:
        about.append(f"task {quoted.word(agent.task, side.id)}")
    about.append(f"last seen {span(now - side.seen)} ago" if side.seen else "ended")
    return f"{bold(side.id)} ({', '.join(about)})"


def _asked(ask: Ask, now: float, quoted: Quoting) -> str:
    why = f" {quoted.said(ask.note, ask.asker)}" if ask.note else ""
    request = f"requested {quoted.path(ask.pattern, ask.asker)} {span(now - ask.at)} ago{why}"
    if not ask.answer:
        return f"{request}; no reply"
    promised = f", by {clock(ask.promised, now)}" if ask.promised else ""
    return f"{request}; reply {span(now - ask.answered)} ago: {ask.answer}{promised}"
