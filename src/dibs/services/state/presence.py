"""Heartbeats: each call of an agent is one, and renews all its claims.

When an agent returns after some of its claims or tickets have expired, these are removed before its
heartbeat counts, so that a late caller cannot revive them.
"""

from __future__ import annotations

from dibs.core.claims.agents import (
    HUMAN,
    NEVER,
    Agent,
    AgentStatus,
    Beat,
    Caller,
    check_own_id,
    stopped,
)
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Claim, Lost, Ticket, ticket_deadline
from dibs.errors import BadInput
from dibs.services.state.keys import ASK, WORKER
from dibs.services.state.rows import claim_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.rules import Ask
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile


#: The most open tool calls that are recorded for an agent.
_MOST_CALLS = 16


def arrive(rows: Rows, caller: Caller) -> Beat:
    """Record a heartbeat of ``caller``; an unknown agent joins."""
    rows.assume_present((caller.id,))
    beat = rows.beat(caller.id)
    if beat is None:
        beat = _join_by_calling(rows, caller)
    elif beat.role == HUMAN and caller.role != HUMAN:
        raise BadInput(
            f"{caller.id} is a human; an agent needs an id of its own",
            code="AGENT_ID",
            field="agent",
        )
    elif beat.lapsed(rows.now):
        beat = _expire_own(rows, caller.id, beat)
    if beat.lost:
        from dibs.services.state.ownership import keep_lost

        keep_lost(rows, caller.id)
    beat = Beat(rows.now, *beat[1:7])  # what others noted ends
    rows.put_beat(caller.id, beat)
    return beat


def keep_alive(rows: Rows, agent: str) -> None:
    """Record a heartbeat of an agent that is idle while its process runs; what has expired stays so."""
    beat = rows.beat(agent)
    if beat is None:
        return
    active = beat.active or beat.seen
    if beat.lapsed(rows.now):
        beat = _expire_own(rows, agent, beat)
    rows.put_beat(agent, beat._replace(seen=rows.now, active=active))


def note_call(rows: Rows, agent: str, call: str, *, is_open: bool) -> None:
    """Record that a tool call of ``agent`` began or ended; without an id, that none is open."""
    beat = rows.beat(agent)
    if beat is None or not (is_open or beat.calls):
        return
    calls = [one for one in beat.calls.split() if call and one != call]
    if is_open:
        calls = [*calls[1 - _MOST_CALLS :], call]
    rows.put_beat(agent, beat._replace(calls=" ".join(calls)))


def note_rest(rows: Rows, agent: str) -> None:
    """Record that an agent waits for its user, until it acts again."""
    beat = rows.beat(agent)
    if beat is not None:
        rows.put_beat(agent, beat._replace(rests=rows.now))


def offer_work(rows: Rows, agent: str) -> None:
    """Record that an agent takes tasks: it joined, or it asked for one."""
    if rows.txn.get(f"{WORKER}{agent}") is None:
        rows.txn.put(f"{WORKER}{agent}", "true")


def offers_work(rows: Rows, agent: str) -> bool:
    """Return whether an agent takes tasks; one that only claims files or creates tasks does not."""
    return rows.txn.get(f"{WORKER}{agent}") is not None


def _join_by_calling(rows: Rows, caller: Caller) -> Beat:
    known = rows.agent(caller.id)
    if known is not None and known.status == AgentStatus.TERMINATED:
        raise stopped(known)
    check_own_id(caller.id, human=caller.role == HUMAN)
    agent = Agent(caller.id, caller.id, caller.role, host=caller.host, started=rows.now)
    if known is not None:
        agent = known._replace(status=AgentStatus.RUNNING, started=rows.now, ended="")
    return admit(rows, agent)


def admit(rows: Rows, agent: Agent) -> Beat:
    """Write ``agent`` as active, and record that in the ledger."""
    rows.put_agent(agent)
    beat = rows.beat(agent.id) or Beat(rows.now)
    beat = beat._replace(seen=rows.now, role=agent.role)
    rows.put_beat(agent.id, beat)
    kind = Kind.SUB_AGENT_SPAWNED if agent.parent else Kind.AGENT_JOINED
    rows.emit(agent.id, agent.role, kind, f"{agent.id} joined as {agent.role}", parent=agent.parent)
    return beat


def _expire_own(rows: Rows, agent: str, beat: Beat) -> Beat:
    """Remove the agent's claims and tickets that expired since its last heartbeat."""
    shortest, earliest = NEVER, NEVER
    for found in list(rows.of_agent(agent)):
        if not found.ticket:
            claim = claim_of(found)
            if rows.is_live(claim):
                shortest = min(shortest, claim.ttl)
                earliest = min(earliest, claim.hard)
            else:
                expire(rows, found.key, claim)
    for ticket in [ticket for ticket in rows.tickets() if ticket.agent == agent]:
        if ticket_deadline(ticket, beat.seen) <= rows.now:
            drop_expired(rows, ticket)
        elif ticket.standing:
            shortest = min(shortest, ticket.lasts)
    beat = (rows.beat(agent) or beat)._replace(ttl=shortest, hard=earliest)
    rows.put_beat(agent, beat)
    return beat


def withdraw(rows: Rows, ticket: Ticket, why: str) -> None:
    """Remove a ticket from the queue and record that, so that waiters behind it check again."""
    rows.drop_ticket(ticket)
    rows.emit(
        ticket.agent,
        role_of(rows, ticket.agent),
        Kind.LOCK_UNQUEUED,
        f"{ticket.agent} no longer waits for {', '.join(ticket.patterns[:5])}: {why}",
        ticket=ticket.number,
        why=why,
    )


def drop_expired(rows: Rows, ticket: Ticket) -> None:
    """Remove a ticket whose waiter is silent, or did not claim in its turn; tell the latter."""
    if not ticket.collect_by:
        withdraw(rows, ticket, "its waiter sent no heartbeat")
        return
    from dibs.core.talk.mail import MailKind
    from dibs.services.state.mailbox import settle, tell

    withdraw(rows, ticket, "it did not claim in its turn")
    settle(rows, ticket.agent, ticket.message)
    tell(rows, ticket.agent, MailKind.TURN, ticket.patterns, sender="", lapsed=True)


def expire(rows: Rows, key: str, claim: Claim) -> None:
    """Remove an expired claim; notify its owner and fence its token.

    It expired at its deadline, which may be long ago. When a process died is not known, and an idle owner can
    lose a claim before its deadline: then it expires now.
    """
    died = rows.is_gone(claim.agent)
    at = rows.now if died else min(rows.deadline(claim), rows.now)
    lost = Lost(claim.pattern, claim.token, "expired", at)
    lose(rows, key, claim, lost)
    rows.emit(
        claim.agent,
        role_of(rows, claim.agent),
        Kind.LOCK_EXPIRED,
        f"{claim.agent}'s claim on {claim.pattern} {lost.how(rows.now)}",
        pattern=claim.pattern,
        token=claim.token,
        expired_at=at,
        **({"died": True} if died else {}),
    )


def lose(rows: Rows, key: str, claim: Claim, lost: Lost) -> list[UnfinishedFile]:
    """Remove a claim that its owner did not release, and notify the owner; return what it left."""
    left = take_off(rows, key, claim, lost)
    asks = drop_asks(rows, claim.agent, [rows.pattern(claim.pattern)])
    if asks:
        from dibs.services.state.mailbox import notify_requesters

        notify_requesters(rows, claim.agent, asks, lost)
    return left


def take_off(rows: Rows, key: str, claim: Claim, lost: Lost) -> list[UnfinishedFile]:
    """Remove a claim and notify its owner; the caller handles release requests for it."""
    from dibs.services.state.ownership import end_claim, is_looked_after, saved_of

    pattern = rows.pattern(claim.pattern)
    lost = lost._replace(kept=is_looked_after(rows, claim))
    left = end_claim(rows, key, claim, heir=lost.by if lost.why == "transferred" else "")
    beat = rows.beat(claim.agent)
    if beat is not None:
        rows.put_lost(claim.agent, pattern, lost)
        counted = 1 if claim.token else 0  # claims that a script took were never counted
        beat = beat._replace(claims=max(0, beat.claims - counted), lost=beat.lost + 1)
        rows.put_beat(claim.agent, beat)
        from dibs.services.state.mailbox import notify_loser

        notify_loser(rows, claim.agent, lost._replace(reason=saved_of(left, lost)))
    return left


def drop_asks(rows: Rows, holder: str, patterns: Iterable[Pattern]) -> list[Ask]:
    """Delete and return the release requests for claims that no longer exist."""
    asks = list(rows.asks(holder))
    if not asks:
        return []
    gone = tuple(f"{ASK}{holder}/{pattern.key}//" for pattern in patterns)
    return close_asks(rows, [(key, ask) for key, ask in asks if key.startswith(gone)])


def close_asks(rows: Rows, asks: Iterable[tuple[str, Ask]]) -> list[Ask]:
    """Delete and return release requests, and mark messages about closed ones as read."""
    closed = []
    for key, ask in asks:
        rows.txn.delete(key)
        closed.append(ask)
    if closed:
        from dibs.services.state.mailbox import settle

        for holder in dict.fromkeys(ask.holder for ask in closed):
            still_open = {ask.id for _, ask in rows.asks(holder)}
            done = {ask.id for ask in closed if ask.holder == holder and ask.id}
            for number in sorted(done - still_open):
                settle(rows, holder, number)
    return closed


def role_of(rows: Rows, agent: str) -> str:
    """Return the role of ``agent`` for the ledger."""
    beat = rows.beat(agent)
    return beat.role if beat is not None else "agent"
