"""Release requests and promises: stored with the owner, sent as messages, renewed when repeated.

A waiting command sends one after a while, once for each claim and waiter.

A promise (``later``) is a deadline. If it passes while the owner still holds the claim, both sides get one
message. A deadline contains its time, so one that a newer reply replaced does nothing.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.ledger import Kind
from dibs.core.claims.release_requests import ASK_AFTER, BROKEN, TURNS, Reply
from dibs.core.claims.rules import Ask
from dibs.core.talk.mail import MailKind
from dibs.services.state import deadlines, mailbox
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.rules import Conflict, Request, Ticket
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The kind of deadline for a promise.
PROMISE = "promise"


def next_ask(rows: Rows, ticket: Ticket, conflicts: Sequence[Conflict]) -> float:
    """Return when a waiter asks the next owner, or ``NEVER``.

    The time counts from when both existed, the claim and the ticket, so an agent that has just been granted a
    claim is not asked at once because others waited before.
    """
    return min(
        (
            max(ticket.since, one.since) + ASK_AFTER
            for one in conflicts
            # Another waiter has nothing to release.
            if not one.ticket
            and not one.held.startswith(TURNS)
            and not rows.is_asked(one.holder, one.held, ticket.agent)
        ),
        default=NEVER,
    )


def ask_owners(rows: Rows, request: Request) -> None:
    """Send the release requests that are due for a waiter, if it is still in the queue."""
    from dibs.services.claims.acquire import survey

    around = survey(rows, request)
    ticket = around.own_ticket
    if ticket is None:
        return
    late = {
        (one.holder, one.held): one
        for one in around.conflicts
        if next_ask(rows, ticket, [one]) <= rows.now
    }
    if late:
        asks = [
            Ask(c.held, c.holder, ticket.agent, ticket.reason, rows.now, ticket.until)
            for c in late.values()
        ]
        put_asks(rows, role_of(rows, ticket.agent), asks)


def put_asks(rows: Rows, role: str, asks: Sequence[Ask]) -> list[Ask]:
    """Store one agent's release requests; each owner gets one message for all of its claims."""
    by_holder: dict[str, list[Ask]] = {}
    for ask in asks:
        by_holder.setdefault(ask.holder, []).append(ask)
    filed: list[Ask] = []
    for holder, group in by_holder.items():
        for ask in group:
            _emit(rows, role, ask)
        number = _told(rows, holder, group)
        named = [ask._replace(id=number) for ask in group]
        for ask in named:
            rows.put_ask(ask)
        filed += named
    return filed


def _told(rows: Rows, holder: str, asks: Sequence[Ask]) -> str:
    """Notify the owner and return the message; an unread message about the same request is replaced."""
    first = asks[0]
    promised = {"promised": first.promised} if first.promised else {}
    message = mailbox.notice(
        rows, holder, MailKind.RELEASE_REQUEST, [ask.pattern for ask in asks],
        sender=first.asker, until=first.until, reason=first.note, **promised,
    )  # fmt: skip
    earlier = _waiting(rows, holder, asks)
    if earlier:
        mailbox.rewrite(rows, message._replace(id=earlier))
        return earlier
    mailbox.put(rows, message)
    return message.id


def _waiting(rows: Rows, holder: str, asks: Sequence[Ask]) -> str:
    """Return the unread message with the same request, or an empty text."""
    asker, wanted = asks[0].asker, {ask.pattern for ask in asks}
    before = {a.pattern: a.id for _, a in rows.asks(holder) if a.asker == asker and a.id}
    ids = {before.get(pattern, "") for pattern in wanted}
    number = ids.pop()
    same = not ids and number and {p for p, i in before.items() if i == number} == wanted
    return number if same and mailbox.is_undelivered(rows, holder, number) else ""


def _emit(rows: Rows, role: str, ask: Ask) -> None:
    again = ", as promised" if ask.promised else ""
    note = f": {ask.note}" if ask.note else ""
    rows.emit(
        ask.asker, role, Kind.RELEASE_REQUESTED,
        f"{ask.asker} asked {ask.holder} to release {ask.pattern}{again}{note}",
        pattern=ask.pattern, holder=ask.holder, until=ask.until, note=ask.note,
    )  # fmt: skip


def expect_promise(rows: Rows, ask: Ask) -> None:
    """Set the deadline at which the promise is checked."""
    moment = deadlines.mark(ask.promised)
    deadlines.put(rows, ask.promised, PROMISE, f"{moment}/{ask.holder}/{ask.asker}")


def remind(_: Store, rows: Rows, id_: str) -> None:
    """Repeat the request for claims that are still held, and notify the agent that asked."""
    moment, holder, asker = id_.split("/")
    asks = [
        ask
        for _, ask in rows.asks(holder)
        if (ask.asker, ask.answer, deadlines.mark(ask.promised)) == (asker, Reply.LATER, moment)
    ]
    if not asks or rows.beat(asker) is None:
        return
    held = {
        rows.pattern(claim.pattern).key
        for _, claim in claims_of(rows, holder)
        if rows.is_live(claim)
    }
    late = [ask for ask in asks if rows.pattern(ask.pattern).key in held]
    if late:
        put_asks(rows, role_of(rows, asker), late)
        patterns = tuple(ask.pattern for ask in late)
        mailbox.tell(rows, asker, MailKind.ANSWER, patterns, sender=holder, answer=BROKEN)
