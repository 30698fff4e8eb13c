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
from dibs.services.claims.ladder import LADDER
from dibs.services.state import deadlines, mailbox
from dibs.services.state.presence import expire, role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Ticket
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows


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
    deadlines.put(rows, collect_by, LADDER, str(ticket.number))
    rows.put_ticket(ticket._replace(collect_by=collect_by, message=message.id))


def end_turn(rows: Rows, ticket: Ticket) -> None:
    """Drop the message and the deadline of a turn that was collected."""
    mailbox.settle(rows, ticket.agent, ticket.message)
    deadlines.drop(rows, ticket.collect_by, LADDER, str(ticket.number))
