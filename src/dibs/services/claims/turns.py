"""The turn of a standing ticket: its agent is notified, and then has a limited time to claim.

No process waits for a standing ticket, so its agent cannot notice that nothing is in its way any more. The
transaction that removes the last obstacle tells it. An obstacle that expires by itself is noticed by the next
command that meets the ticket or handles deadlines, and the time starts then: nobody loses a place unnoticed.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import ticket_deadline
from dibs.core.talk.mail import MailKind
from dibs.core.text.durations import show_span
from dibs.services.claims.acquire import request_of, survey
from dibs.services.state import deadlines, mailbox
from dibs.services.state.presence import drop_expired, expire, role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.rules import Conflict, Ticket
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The kind of deadline of a standing ticket: an obstacle may have expired, or its turn lapses.
TURN = "turn"
#: The least time, in seconds, between two looks at a standing ticket.
SHORTEST_REST = 1.0


def has_come(rows: Rows, ticket: Ticket) -> bool:
    """Return whether nothing is in the way of ``ticket``."""
    return not survey(rows, request_of(rows, ticket)).conflicts


def give_turns(rows: Rows, lasts: float) -> None:
    """Tell each agent whose turn has come that its standing ticket lapses in ``lasts`` seconds."""
    for ticket in list(rows.tickets()):
        if not ticket.standing or ticket.collect_by:
            continue
        if ticket_deadline(ticket, rows.seen(ticket.agent)) > rows.now:
            around = survey(rows, request_of(rows, ticket))
            if not around.conflicts:
                _give(rows, ticket, around, lasts)


def _give(rows: Rows, ticket: Ticket, around: Survey, lasts: float) -> None:
    for key, claim in around.dead.items():
        expire(rows, key, claim)
    agent, what = ticket.agent, ticket.patterns
    rows.emit(
        agent, role_of(rows, agent), Kind.LOCK_TURN,
        f"it is {agent}'s turn to claim {', '.join(what[:5])}", ticket=ticket.number, within=lasts,
    )  # fmt: skip
    message = mailbox.notice(
        rows, agent, MailKind.TURN, what, sender="", within=lasts, span=show_span(lasts)
    )
    mailbox.put(rows, message)
    collect_by = rows.now + lasts
    deadlines.put(rows, collect_by, TURN, str(ticket.number))
    rows.put_ticket(ticket._replace(collect_by=collect_by, message=message.id))


def expect(rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict]) -> None:
    """Look at a standing ticket again when the first obstacle can expire by itself."""
    soonest = min((one.expires_in for one in conflicts), default=0.0)
    deadlines.put(rows, rows.now + max(soonest, SHORTEST_REST), TURN, str(ticket.number))


def look_again(_: Store, rows: Rows, number: str) -> None:
    """Remove a ticket whose agent did not claim in its turn, or see whether its turn has come."""
    ticket = rows.ticket(int(number))
    if ticket is None:
        return
    if ticket_deadline(ticket, rows.seen(ticket.agent)) <= rows.now:
        drop_expired(rows, ticket)
    elif not ticket.collect_by:
        rows.turns = True
        around = survey(rows, request_of(rows, ticket))
        if around.conflicts:
            expect(rows, ticket, around.conflicts)


def end_turn(rows: Rows, ticket: Ticket) -> None:
    """Drop the message and the deadline of a turn that was collected."""
    mailbox.settle(rows, ticket.agent, ticket.message)
    deadlines.drop(rows, ticket.collect_by, TURN, str(ticket.number))
