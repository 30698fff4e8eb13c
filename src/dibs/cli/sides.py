"""Both sides of a conflict as text for the human who decides."""

from __future__ import annotations

from dibs.cli.text import bold, clock, holder_line, printable, span, waiter_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims import Ask
    from dibs.core.decisions import Decision
    from dibs.services.sides import Side, Sides


def side_lines(decision: Decision, value: Sides) -> Iterator[str]:
    """Yield who holds it, who wants it, what was said, who else waits, and what each choice does."""
    now = value.now
    yield f"HOLDER  {_who(value.holder, now)}"
    for held in value.held:
        yield f"  {holder_line(held)}, since {clock(held.claim.since, now)}"
    if not value.held:
        yield "  holds none of it any more" if not value.open else "  holds it"
    yield f"ASKER   {_who(value.asker, now)}"
    wanted = ", ".join(map(printable, decision.data["wanted"]))
    yield f"  wants {wanted} ({decision.data['mode']})" + _why(decision.rationale)
    waiting = [w for w in value.queue if w.ticket.agent == decision.asker]
    for waiter in waiting:
        yield f"  waits since {clock(waiter.ticket.since, now)} ({span(now - waiter.ticket.since)})"
    if not waiting:
        yield "  does not wait in the queue"
    for ask in value.asks:
        yield f"  {_asked(ask, now)}"
    if not value.asks:
        yield "  has not asked the holder"
    yield f"QUEUE   {len(value.queue)} waiting"
    for waiter in value.queue:
        yield f"  {waiter_line(waiter)}"
    if value.open and decision.outcome == "pending":
        first = value.queue[0].ticket.agent if value.queue else ""
        other = f" ({first} is first in the queue)" if first not in {"", decision.asker} else ""
        holder, asker = value.holder.id, value.asker.id
        yield f"dibs decide revoke {decision.id}: {holder} loses it, {asker} is told{other}"
        yield f"dibs decide refuse {decision.id} --reason WHY: {holder} keeps it, {asker} is told"


def _who(side: Side, now: float) -> str:
    agent = side.agent
    about = [] if agent is None else [printable(agent.role)]
    if agent is not None and agent.task:
        about.append(f"task {printable(agent.task)}")
    about.append(f"last heard of {span(now - side.seen)} ago" if side.seen else "has ended")
    return f"{bold(side.id)} ({', '.join(about)})"


def _asked(ask: Ask, now: float) -> str:
    said = f"asked for {printable(ask.pattern)} {span(now - ask.at)} ago{_why(ask.note)}"
    if not ask.answer:
        return f"{said}; no answer"
    promised = f", by {clock(ask.promised, now)}" if ask.promised else ""
    return f"{said}; {span(now - ask.answered)} ago the answer was {ask.answer}{promised}"


def _why(text: str) -> str:
    return f' "{printable(text)}"' if text else ""
