"""Signs of life: each call of an agent is one, and carries all its claims.

An agent that comes back after some of its claims or tickets ran out finds them gone: they are taken
off before the sign of life counts, so that a late caller cannot bring them back to life.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, NEVER, Agent, Beat, Caller, Status, check_own_id
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Claim, Lost, Ticket, deadline, live, ticket_deadline
from dibs.errors import BadInput, NotAllowed
from dibs.services.state.rows import claim_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.rules import Ask
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Book


def arrive(book: Book, caller: Caller) -> Beat:
    """Take a call as a sign of life of ``caller``; an unknown agent joins by it."""
    beat = book.beat(caller.id)
    if beat is None:
        beat = _join_by_calling(book, caller)
    elif beat.role == HUMAN and not caller.human:
        raise BadInput(
            f"{caller.id} is a human: an agent has an id of its own", code="AGENT_ID", field="agent"
        )
    elif beat.lapsed(book.now):
        beat = _expire_own(book, caller.id, beat)
    beat = Beat(book.now, *beat[1:])
    book.put_beat(caller.id, beat)
    return beat


def offer_work(book: Book, agent: str) -> None:
    """Note that an agent takes tasks: it joined, or it asked for one."""
    if book.txn.get(f"worker/{agent}") is None:
        book.txn.put(f"worker/{agent}", "true")


def offers_work(book: Book, agent: str) -> bool:
    """Tell whether an agent takes tasks; one that only claims files or makes tasks does not."""
    return book.txn.get(f"worker/{agent}") is not None


def _join_by_calling(book: Book, caller: Caller) -> Beat:
    known = book.agent(caller.id)
    if known is not None and known.status == Status.TERMINATED:
        raise NotAllowed(
            f"{caller.id} was stopped: {known.ended or 'no reason given'}",
            code="AGENT_STOPPED",
            hint="stop your work; a human can let you back in with `dibs agent join`",
        )
    check_own_id(caller.id, human=caller.human)
    agent = Agent(caller.id, caller.id, caller.role, host=caller.host, started=book.now)
    if known is not None:
        agent = known._replace(status=Status.RUNNING, started=book.now, ended="")
    return admit(book, agent)


def admit(book: Book, agent: Agent) -> Beat:
    """Write ``agent`` as one that works from now on, and tell the ledger."""
    book.put_agent(agent)
    beat = book.beat(agent.id) or Beat(book.now)
    beat = beat._replace(seen=book.now, role=agent.role)
    book.put_beat(agent.id, beat)
    kind = Kind.SUB_AGENT_SPAWNED if agent.parent else Kind.AGENT_JOINED
    book.emit(agent.id, agent.role, kind, f"{agent.id} joined as {agent.role}", parent=agent.parent)
    return beat


def _expire_own(book: Book, agent: str, beat: Beat) -> Beat:
    """Take off what ran out while the agent was silent: claims, and tickets that it kept alive."""
    shortest, earliest = NEVER, NEVER
    for found in list(book.of_agent(agent)):
        if not found.ticket:
            claim = claim_of(found)
            if live(claim, beat.seen, book.now):
                shortest = min(shortest, claim.ttl)
                earliest = min(earliest, claim.hard)
            else:
                expire(book, found.key, claim)
    for ticket in [ticket for ticket in book.tickets() if ticket.agent == agent]:
        if ticket_deadline(ticket, beat.seen) <= book.now:
            withdraw(book, ticket, "its agent was not heard of")
        elif ticket.standing:
            shortest = min(shortest, ticket.lasts)
    beat = (book.beat(agent) or beat)._replace(ttl=shortest, hard=earliest)
    book.put_beat(agent, beat)
    return beat


def withdraw(book: Book, ticket: Ticket, why: str) -> None:
    """Take a ticket out of the queue and tell the ledger, so that those behind it look again."""
    book.drop_ticket(ticket)
    book.emit(
        ticket.agent,
        role_of(book, ticket.agent),
        Kind.LOCK_UNQUEUED,
        f"{ticket.agent} no longer waits for {', '.join(ticket.patterns[:5])}: {why}",
        ticket=ticket.number,
    )


def expire(book: Book, key: str, claim: Claim) -> None:
    """Take off a claim that ran out, so that its holder is told and its token is worth nothing."""
    at = deadline(claim, book.seen(claim.agent))
    lose(book, key, claim, Lost(claim.pattern, claim.token, "expired", at))
    book.emit(
        claim.agent,
        role_of(book, claim.agent),
        Kind.LOCK_EXPIRED,
        f"claim of {claim.agent} on {claim.pattern} expired",
        pattern=claim.pattern,
        token=claim.token,
    )


def lose(book: Book, key: str, claim: Claim, lost: Lost) -> None:
    """Take a claim off without its holder's doing, and leave word for the holder."""
    take_off(book, key, claim, lost)
    asks = drop_asks(book, claim.agent, [book.pattern(claim.pattern)])
    if asks:
        from dibs.services.state.mailbox import tell_askers

        tell_askers(book, claim.agent, asks, why=lost.why, heir=lost.by)


def take_off(book: Book, key: str, claim: Claim, lost: Lost) -> None:
    """Do so, but for those who asked for it: who takes off many does that for all at once."""
    pattern = book.pattern(claim.pattern)
    book.txn.delete(key)
    beat = book.beat(claim.agent)
    if beat is not None:
        book.put_lost(claim.agent, pattern, lost)
        counted = 1 if claim.token else 0  # what a script took was never counted
        beat = beat._replace(claims=max(0, beat.claims - counted), lost=beat.lost + 1)
        book.put_beat(claim.agent, beat)
        from dibs.services.state.mailbox import tell_loser

        tell_loser(book, claim.agent, lost)


def drop_asks(book: Book, holder: str, patterns: Iterable[Pattern]) -> list[Ask]:
    """Forget the release requests for claims that are gone, and return them."""
    asks = list(book.asks(holder))
    if not asks:
        return []
    gone = tuple(f"ask/{holder}/{pattern.key}//" for pattern in patterns)
    dropped = []
    for key, ask in asks:
        if key.startswith(gone):
            book.txn.delete(key)
            dropped.append(ask)
    return dropped


def role_of(book: Book, agent: str) -> str:
    """Return the role of ``agent`` for the ledger."""
    beat = book.beat(agent)
    return beat.role if beat is not None else "agent"
