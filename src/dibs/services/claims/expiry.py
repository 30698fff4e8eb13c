"""Expiry on time: remove what has expired, tell those concerned, and say when to look again.

Without a server, the next command that meets an expired claim does this. Every step is one transaction that
checks again, so that any number of servers and commands do it once.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.rules import deadline, ticket_deadline
from dibs.services.claims.due import HANDLERS
from dibs.services.state import deadlines
from dibs.services.state.presence import drop_expired, expire
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Claim, Ticket
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many claims and tickets one transaction removes.
BATCH = 100


class Expiring(Record):
    """What has expired, and when the next thing does."""

    claims: list[tuple[str, Claim]]
    tickets: list[Ticket]
    #: Seconds until the next deadline of any kind; ``NEVER`` if there is none.
    next_in: float


def expire_due(store: Store) -> tuple[int, float]:
    """Remove expired claims and tickets, and handle other deadlines that have passed.

    Return how many claims and tickets, and the seconds until the next deadline.
    """
    total = 0
    while (found := store.look(expiring)).claims or found.tickets:
        done = store.apply(_remove)
        total += done
        if not done:
            break
    store.settle()
    return total, store.look(expiring).next_in


def expiring(rows: Rows) -> Expiring:
    """Return the claims and tickets that have expired, and when the next deadline is."""
    claims, tickets, soonest = [], [], deadlines.next_moment(rows, HANDLERS)
    for key, claim in rows.claims():
        ends = deadline(claim, rows.heard(claim.agent))
        if ends <= rows.now:
            ends = rows.deadline(claim)  # it may live on while its process runs
        if ends <= rows.now:
            claims.append((key, claim))
        else:
            soonest = min(soonest, ends)
    for ticket in rows.tickets():
        ends = ticket_deadline(ticket, rows.heard(ticket.agent))
        if ends <= rows.now:
            tickets.append(ticket)
        else:
            soonest = min(soonest, ends)
    return Expiring(claims, tickets, soonest - rows.now if soonest < NEVER else NEVER)


def _remove(rows: Rows) -> int:
    found = expiring(rows)
    for key, claim in found.claims[:BATCH]:
        expire(rows, key, claim)
    room = BATCH - len(found.claims[:BATCH])
    for ticket in found.tickets[:room]:
        drop_expired(rows, ticket)
    return len(found.claims[:BATCH]) + len(found.tickets[:room])
