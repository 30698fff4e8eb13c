"""The automatic steps of a waiting agent: ask each owner, then escalate to a human.

A waiting process takes them itself. A standing ticket has no process: its steps are deadlines, handled by
the next command of any agent. The store records each step (a request with the owner, a token in the
ticket), so every step is taken once per claim.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.ladder import TURNS, EscalationTimes, Rung, due, moments, next_moment
from dibs.core.claims.rules import Ask, ticket_deadline
from dibs.services.claims.acquire import request_of, survey
from dibs.services.state.presence import drop_expired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.config.load import Config
    from dibs.core.claims.rules import Conflict, Request, Ticket
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The kind of deadline of a standing ticket.
LADDER = "ladder"
#: The least time, in seconds, between two looks at a standing ticket.
SHORTEST_REST = 1.0


def policy_of(config: Config) -> EscalationTimes:
    """Return when the steps are due, from the settings."""
    return EscalationTimes(config.ladder_ask, config.ladder_escalate)


def next_step(
    rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict], policy: EscalationTimes
) -> float:
    """Return when the next step is due, or ``NEVER``."""
    steps = _steps(rows, ticket, conflicts, policy)
    return min((next_moment(at, taken) for _, at, taken in steps), default=NEVER)


def climb(rows: Rows, request: Request, policy: EscalationTimes) -> None:
    """Take the steps that are due for ``request``, if it is still in the queue."""
    around = survey(rows, request)
    if around.own_ticket is not None:
        _climb(rows, around.own_ticket, around.conflicts, policy)


def _climb(
    rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict], policy: EscalationTimes
) -> None:
    asked: dict[tuple[str, str], Conflict] = {}
    escalated: list[Conflict] = []
    for conflict, at, taken in list(_steps(rows, ticket, conflicts, policy)):
        steps = due(at, taken, rows.now)
        if Rung.ASK in steps:
            asked[conflict.holder, conflict.held] = conflict
        if Rung.ESCALATE in steps:
            escalated.append(conflict)
    if asked:
        _ask(rows, ticket, list(asked.values()))
    if escalated:
        _escalate(rows, ticket, escalated)


def _steps(
    rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict], policy: EscalationTimes
) -> Iterator[tuple[Conflict, dict[str, float], set[str]]]:
    """Yield each conflict, the times of its steps, and the steps already taken."""
    for conflict in conflicts:
        if conflict.ticket or conflict.held.startswith(TURNS):
            continue  # another waiter has nothing to release
        taken = set()
        if rows.is_asked(conflict.holder, conflict.held, ticket.agent):
            taken.add(Rung.ASK)
        if conflict.token in ticket.escalated:
            taken.add(Rung.ESCALATE)
        yield conflict, moments(policy, ticket.since, conflict.since), taken


def _ask(rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict]) -> None:
    from dibs.services.claims.asks import put_asks
    from dibs.services.state.presence import role_of

    asks = [
        Ask(c.held, c.holder, ticket.agent, ticket.reason, rows.now, ticket.until)
        for c in conflicts
    ]
    put_asks(rows, role_of(rows, ticket.agent), asks)


def _escalate(rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict]) -> None:
    from dibs.services.claims.escalation import Dispute, put_before_human

    wish = Dispute(
        ticket.agent, ticket.patterns, ticket.mode, ticket.number, ticket.reason, automatic=True
    )
    put_before_human(rows, wish, conflicts)


# -- tickets without a waiting process


def expect(rows: Rows, config: Config, ticket: Ticket) -> None:
    """Start the steps of a standing ticket with the waiter's settings.

    Repeating it changes nothing, and time that a killed process already waited counts.
    """
    policy = policy_of(config)
    if ticket.ladder[:2] != tuple(policy):
        _look_again(rows, ticket, policy, max(ticket.since + policy.soonest, rows.now))


def settle(_: Store, rows: Rows, number: str) -> None:
    """Take the steps of a standing ticket that are due, and set its next deadline."""
    ticket = rows.ticket(int(number))
    if ticket is None:
        return
    if ticket_deadline(ticket, rows.seen(ticket.agent)) <= rows.now:
        drop_expired(rows, ticket)
        return
    rows.turns = True
    if not ticket.ladder:
        return
    policy = EscalationTimes(*ticket.ladder[:2])
    request = request_of(rows, ticket)
    climb(rows, request, policy)
    around = survey(rows, request)
    ticket = around.own_ticket or ticket
    # A new claim may cause a conflict later, so look again even if no step is due.
    expiry = min((rows.now + c.expires_in for c in around.conflicts), default=NEVER)
    step = next_step(rows, ticket, around.conflicts, policy)
    after = min(rows.now + policy.soonest, step, expiry)
    _look_again(rows, ticket, policy, max(after, rows.now + SHORTEST_REST))


def _look_again(rows: Rows, ticket: Ticket, policy: EscalationTimes, moment: float) -> None:
    """Replace the deadline of a standing ticket; no deadline if steps are disabled."""
    from dibs.services.state import deadlines

    number = str(ticket.number)
    if ticket.ladder:
        deadlines.drop(rows, ticket.ladder[2], LADDER, number)
    if policy.soonest:
        deadlines.put(rows, moment, LADDER, number)
    ladder = (*policy, moment) if policy.soonest else ()
    if ladder != ticket.ladder:
        rows.put_ticket(ticket._replace(ladder=ladder))
