"""One attempt at a claim, in one transaction: find conflicts, then grant, queue, or deny."""

from __future__ import annotations

from dibs.core.claims.agents import Beat
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import (
    EXCLUSIVE,
    MAX_CLAIMS,
    MAX_WAITERS,
    Claim,
    Conflict,
    Denied,
    Granted,
    Outcome,
    Queued,
    Request,
    Ticket,
    Wait,
    clash,
    find_cycle,
    obstacle,
    queued_before,
    ticket_deadline,
)
from dibs.errors import BadInput
from dibs.local.repository import checked_out
from dibs.services.state.facts import may_take_over
from dibs.services.state.presence import drop_expired, expire, withdraw
from dibs.services.state.rows import FiledRow, claim_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows

#: How many conflicts a denial names.
SHOWN = 20
#: Matches no ticket; the row of a claim has 0.
NO_TICKET = -1
#: Check the limit on a project's claims after this many claims of one agent, because counting is slow.
COUNT_EVERY = 2048


class WaitOptions(Record):
    """How a request waits: until when, and how long each heartbeat of the waiter lasts."""

    until: float
    lasts: float
    #: Whether the ticket stays when the call ends.
    standing: bool


class Survey:
    """The claims and tickets that overlap a request at one moment."""

    __slots__ = ("conflicts", "dead", "dead_tickets", "own", "own_ticket", "standing")

    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []
        self.own: dict[str, tuple[str, Claim]] = {}
        self.own_ticket: Ticket | None = None
        self.dead: dict[str, Claim] = {}
        self.dead_tickets: list[Ticket] = []
        #: Standing tickets that conflict; their agents were not told yet that it is their turn.
        self.standing: dict[int, Ticket] = {}

    @property
    def own_number(self) -> int:
        """The number of the requester's own ticket."""
        return NO_TICKET if self.own_ticket is None else self.own_ticket.number


def survey(
    rows: Rows, request: Request, near: Mapping[str, Sequence[FiledRow]] | None = None
) -> Survey:
    """Find everything that overlaps ``request``; change nothing.

    ``near`` has the rows that the caller already found for a pattern, by the pattern's key.
    """
    known = near or {}
    result = Survey()
    waiting: list[tuple[Pattern, Pattern, int]] = []
    for asked in request.patterns:
        for found in known[asked.key] if asked.key in known else rows.near(asked):
            if found.ticket:
                entry = rows.pattern(found.record["pattern"])
                waiting.append((asked, entry, found.ticket))
            elif found.agent == request.agent:
                _note_own(rows, asked, found, result)
            else:
                _weigh_claim(rows, request, asked, found, result)
    if waiting:
        _weigh_tickets(rows, request, waiting, result)
    return result


def _note_own(rows: Rows, asked: Pattern, found: FiledRow, result: Survey) -> None:
    """Record the requester's own claim on the same pattern, which may have expired."""
    if rows.pattern(found.record["pattern"]).key == asked.key:
        claim = claim_of(found)
        if rows.is_live(claim):
            result.own[asked.key] = (found.key, claim)
        else:
            result.dead[found.key] = claim


def _weigh_tickets(
    rows: Rows, request: Request, waiting: list[tuple[Pattern, Pattern, int]], result: Survey
) -> None:
    tickets: dict[int, Ticket] = {}
    for number in sorted({number for _, _, number in waiting}):
        _sort_ticket(rows, request, number, tickets, result)
    own = result.own_ticket.number if result.own_ticket is not None else 0
    for asked, entry, number in waiting:
        if number in tickets and not _holds(result, asked, request.mode):
            ticket = tickets[number]
            left = ticket_deadline(ticket, rows.seen(ticket.agent)) - rows.now
            conflict = queued_before(request, asked, entry, ticket, own, left)
            if conflict is not None:
                result.conflicts.append(conflict)
                if ticket.standing and not ticket.collect_by:
                    result.standing[number] = ticket


def _holds(result: Survey, asked: Pattern, mode: str) -> bool:
    """Return whether the requester already holds this pattern, so that no waiter is ahead of it."""
    own = result.own.get(asked.key)
    return own is not None and own[1].mode in {mode, EXCLUSIVE}


def _weigh_claim(
    rows: Rows, request: Request, asked: Pattern, found: FiledRow, result: Survey
) -> None:
    claim = claim_of(found)
    witness = clash(request, asked, rows.pattern(claim.pattern), claim)
    if witness is None:
        return
    # Check the process only if its claim conflicts.
    left = rows.deadline(claim) - rows.now
    while_running = rows.is_while_running(claim)
    if left > 0 and not (while_running and may_take_over(rows, request.agent, claim)):
        result.conflicts.append(obstacle(asked, claim, witness, left, while_running=while_running))
    else:
        result.dead[found.key] = claim


def _sort_ticket(
    rows: Rows, request: Request, number: int, tickets: dict[int, Ticket], result: Survey
) -> None:
    """Record a ticket as the requester's own, another agent's, or dead."""
    ticket = rows.ticket(number)
    if ticket is None:
        return
    if ticket_deadline(ticket, rows.seen(ticket.agent)) <= rows.now:
        result.dead_tickets.append(ticket)
    elif ticket.agent != request.agent:
        tickets[number] = ticket
    elif result.own_ticket is None and _same_wish(rows, request, ticket):
        result.own_ticket = ticket


def _same_wish(rows: Rows, request: Request, ticket: Ticket) -> bool:
    keys = {rows.pattern(text).key for text in ticket.patterns}
    return ticket.mode == request.mode and keys == {p.key for p in request.patterns}


def attempt(
    rows: Rows,
    request: Request,
    beat: Beat,
    *,
    max_hold: float,
    waiting: WaitOptions | None,
    quiet: bool = False,
    around: Survey | None = None,
) -> Outcome:
    """Grant, queue, or deny ``request``, and write the result.

    A denial is written to the ledger unless ``quiet``. ``around`` is a survey of this request that is
    still current.
    """
    result = survey(rows, request) if around is None else around
    for key, claim in result.dead.items():
        expire(rows, key, claim)
        beat = rows.beat(request.agent) or beat
    for ticket in result.dead_tickets:
        drop_expired(rows, ticket)
    if result.standing:
        rows.turns = True
    if not result.conflicts:
        return _grant(rows, request, beat, result, max_hold)
    conflicts = tuple(result.conflicts[:SHOWN])
    if waiting is None:
        if not quiet:
            _tell_denied(rows, request, beat, conflicts[0])
        return Denied(conflicts)
    cycle = _closes_circle(rows, request, result)
    if cycle:
        if result.own_ticket is not None:
            withdraw(rows, result.own_ticket, "it would deadlock")
        agents = [wait.agent for wait in cycle]
        _tell_denied(rows, request, beat, conflicts[0], why="deadlock", cycle=agents)
        return Denied(conflicts, "deadlock", cycle)
    ticket = queue_up(rows, request, beat, result.own_ticket, waiting, result.conflicts)
    ahead = len({conflict.ticket for conflict in result.conflicts if conflict.ticket})
    return Queued(ticket, conflicts, ahead)


def _tell_denied(
    rows: Rows, request: Request, beat: Beat, conflict: Conflict, **details: object
) -> None:
    rows.emit(
        request.agent,
        beat.role,
        Kind.LOCK_DENIED,
        f"{request.agent} was denied {conflict.pattern}: {conflict.holder}"
        f" {'is waiting for' if conflict.ticket else 'holds'} {conflict.held}",
        pattern=conflict.pattern,
        held=conflict.held,
        holder=conflict.holder,
        **details,
    )


def _closes_circle(rows: Rows, request: Request, around: Survey) -> tuple[Wait, ...]:
    if not _entangled(rows, request.agent, around.own_number):
        return ()
    waits = [Wait(request.agent, c.pattern, c.holder) for c in around.conflicts]
    return find_cycle(request.agent, waits, lambda agent: _waits_of(rows, agent))


def circle_of(rows: Rows, agent: str, own: int = NO_TICKET) -> tuple[Wait, ...]:
    """Return a cycle of waiters that contains ``agent``, if there is one.

    With its ticket's number in ``own``, a cycle that another agent will find may be left out.
    """
    if not _entangled(rows, agent, own):
        return ()
    return find_cycle(agent, _waits_of(rows, agent), lambda other: _waits_of(rows, other))


def _entangled(rows: Rows, agent: str, own: int) -> bool:
    """Return whether ``agent`` has a claim, or a ticket other than ``own``.

    An agent with neither waits only for earlier tickets, so every cycle contains an entangled agent.
    """
    return any(found.ticket != own for found in rows.of_agent(agent))


def _waits_of(rows: Rows, agent: str) -> Iterator[Wait]:
    """Yield what ``agent`` waits for: the conflicts of its live tickets."""
    for ticket in rows.tickets():
        if ticket.agent == agent and ticket_deadline(ticket, rows.seen(agent)) > rows.now:
            for conflict in survey(rows, request_of(rows, ticket)).conflicts:
                yield Wait(agent, conflict.pattern, conflict.holder)


def request_of(rows: Rows, ticket: Ticket) -> Request:
    """Return what a ticket waits for."""
    patterns = tuple(rows.pattern(text) for text in ticket.patterns)
    return Request(ticket.agent, patterns, ticket.mode, ticket.ttl)


def queue_up(
    rows: Rows,
    request: Request,
    beat: Beat,
    own: Ticket | None,
    waiting: WaitOptions,
    conflicts: Sequence[Conflict] = (),
) -> Ticket:
    """Renew the requester's ticket, or add it to the queue; the entry names who is in the way."""
    if waiting.standing:
        rows.put_beat(request.agent, beat._replace(ttl=min(beat.ttl, waiting.lasts)))
    if own is not None:
        ticket = own._replace(
            seen=rows.now, lasts=waiting.lasts, standing=waiting.standing, collect_by=0.0
        )
        if waiting.standing:
            ticket = ticket._replace(until=waiting.until)
        rows.put_ticket(ticket)
        return ticket
    if sum(1 for _ in rows.tickets()) >= MAX_WAITERS:
        raise BadInput(f"the queue is full: {MAX_WAITERS} requests are waiting", code="LIMIT")
    texts = tuple(pattern.text for pattern in request.patterns)
    details: dict[str, object] = {"patterns": texts[:SHOWN], "mode": request.mode}
    if conflicts:
        details["holders"] = list(dict.fromkeys(one.holder for one in conflicts))[:SHOWN]
    if waiting.standing:
        details["standing"] = True
    said = f"{request.agent} is waiting for {', '.join(texts[:5])}"
    number = rows.emit(request.agent, beat.role, Kind.LOCK_QUEUED, said, **details)
    ticket = Ticket(
        number, request.agent, texts, request.mode, request.ttl, rows.now, rows.now,
        waiting.lasts, waiting.until, request.reason, request.task, waiting.standing,
    )  # fmt: skip
    rows.file_ticket(ticket)
    return ticket


def _grant(rows: Rows, request: Request, beat: Beat, around: Survey, max_hold: float) -> Granted:
    agent, patterns, _, ttl, _, _ = request
    hard = rows.now + max_hold
    claims: dict[str, Claim] = {}
    fresh: Sequence[Pattern] = patterns
    token = 0
    if around.own:
        token = _refresh(rows, request, around, hard, claims)
        fresh = [pattern for pattern in patterns if pattern.key not in claims]
    if fresh:
        _check_room(rows, beat, len(fresh))
        token = _grant_fresh(rows, request, beat.role, fresh, hard, claims, around.own_ticket)
        if around.own or beat.lost:
            beat = _replace_earlier(rows, agent, beat, around, fresh)
    if around.own_ticket is not None and fresh:
        rows.drop_ticket(around.own_ticket)  # the entry that grants says so
        if around.own_ticket.message:
            from dibs.services.claims.turns import end_turn

            end_turn(rows, around.own_ticket)
    elif around.own_ticket is not None:
        withdraw(rows, around.own_ticket, "it holds it already")
    seen, shortest, earliest, count, lost, role, calls, *rest = beat
    count += len(fresh)
    beat = Beat(seen, min(shortest, ttl), min(earliest, hard), count, lost, role, calls, *rest)
    rows.put_beat(agent, beat)
    granted = tuple([claims[pattern.key] for pattern in patterns])
    new = tuple([pattern.key not in around.own for pattern in patterns])
    return Granted(granted, token, (min(rows.now + ttl, hard),) * len(granted), new)


def _refresh(
    rows: Rows, request: Request, around: Survey, hard: float, claims: dict[str, Claim]
) -> int:
    """Renew the claims that the requester already holds, with the same tokens; return the newest token."""
    for pattern in request.patterns:
        own = around.own[pattern.key][1] if _holds(around, pattern, request.mode) else None
        if own is not None and own.token:  # a claim that a script wrote has no token yet
            claims[pattern.key] = own._replace(
                ttl=request.ttl,
                hard=hard,
                reason=request.reason or own.reason,
                task=request.task or own.task,
            )
            rows.put_claim(claims[pattern.key], pattern)
    return max((claim.token for claim in claims.values()), default=0)


def _grant_fresh(
    rows: Rows,
    request: Request,
    role: str,
    fresh: Sequence[Pattern],
    hard: float,
    claims: dict[str, Claim],
    ticket: Ticket | None,
) -> int:
    """Write new claims under one token, which is the number of their ledger entry."""
    agent, _, mode, ttl, reason, task = request
    texts = [pattern.text for pattern in fresh]
    details: dict[str, object] = {"patterns": texts[:SHOWN], "mode": mode, "ttl": ttl}
    if reason:
        details["reason"] = reason
    if task:
        details["task"] = task
    if ticket is not None:
        details["ticket"] = ticket.number
    summary = f"{agent} claimed {', '.join(texts[:5])}"
    token = rows.emit(agent, role, Kind.LOCK_ACQUIRED, summary, **details)
    now = rows.now
    tree, branch = rows.tree_name(rows.tree), checked_out(rows.tree) if rows.tree else ""
    for place, pattern in enumerate(fresh):
        name = f"c{token}.{place}" if place else f"c{token}"
        claim = Claim(
            name, pattern.text, mode, agent, token, ttl, now, hard, reason, task, tree, branch
        )
        rows.put_claim(claim, pattern)
        claims[pattern.key] = claim
    return token


def _replace_earlier(
    rows: Rows, agent: str, beat: Beat, around: Survey, fresh: Sequence[Pattern]
) -> Beat:
    """Drop what a new claim replaces: a weaker claim on the pattern, and the record of a lost one."""
    for pattern in fresh:
        if pattern.key in around.own:
            key, own = around.own[pattern.key]
            rows.drop_claim(key)
            beat = beat._replace(claims=beat.claims - (1 if own.token else 0))
        if beat.lost and rows.lost_at(agent, pattern) is not None:
            rows.drop_lost(agent, pattern)
            beat = beat._replace(lost=beat.lost - 1)
    return beat


def _check_room(rows: Rows, beat: Beat, wanted: int) -> None:
    if beat.claims % COUNT_EVERY + wanted < COUNT_EVERY:
        return
    if rows.count_filed() + wanted > MAX_CLAIMS:
        raise BadInput(f"the project already has {MAX_CLAIMS} claims", code="LIMIT")
