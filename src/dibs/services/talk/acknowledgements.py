"""Acknowledgements: who wanted one is told when it comes, and once if it does not come in time."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind, Message, box_of
from dibs.core.text.names import cut, few
from dibs.services.state import mailbox
from dibs.services.talk.mail import need, no_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How much of a message a word about it repeats.
SHOWN = 60


def acknowledge(rows: Rows, caller: Caller, role: str, number: str) -> Message:
    """Note that the caller acknowledges a message that lies in one of its boxes, and tell its sender."""
    message = need(rows, number)
    row = mailbox.row_of(number)
    fresh = False
    own = [b for b in mailbox.boxes_of(caller.id, human=caller.human) if b in message.boxes]
    if not own:
        raise no_message(number)
    for box in own:
        mailbox.mark_read(rows, box, row)
        if "acked" not in (mailbox.state_of(rows, box, row) or {"acked": 0}):
            mailbox.mark(rows, box, row, acked=rows.now)
            fresh = True
    if fresh and message.wants_ack:
        _tell_sender(rows, message, caller.id, role)
    return message


def _tell_sender(rows: Rows, message: Message, reader: str, role: str) -> None:
    rows.emit(
        reader, role, Kind.MESSAGE_SENT,
        f"{reader} acknowledged {message.id} of {message.sender}",
        to=message.sender, thread=message.thread, acknowledges=message.id,
    )  # fmt: skip
    text = f"{reader} acknowledged {message.id}: {_start(message)}"
    _answer(rows, message, MailKind.ACKNOWLEDGED, text, reader, role)
    if message.due and not missing(rows, message):
        from dibs.services.state import deadlines

        deadlines.drop(rows, message.due, "mail", message.id)


def overdue(_: Store, rows: Rows, number: str) -> None:
    """Tell the sender of a message who has not acknowledged it in time; say nothing if all have."""
    message = mailbox.message_at(rows, number)
    late = missing(rows, message) if message is not None else []
    if message is None or not late:
        return
    names = few([name.removeprefix("@") for name in late], 5)
    text = f"{names} did not acknowledge {number} in time: {_start(message)}"
    rows.emit(
        message.sender, message.role, Kind.MESSAGE_SENT,
        f"{number} of {message.sender} was not acknowledged in time by {names}",
        to=message.to, thread=message.thread, overdue=number,
    )  # fmt: skip
    _answer(rows, message, MailKind.OVERDUE, text, "", "")


def missing(rows: Rows, message: Message) -> list[str]:
    """Return the boxes whose owners have not acknowledged a message."""
    row = mailbox.row_of(message.id)
    return [box for box in message.boxes if "acked" not in (mailbox.state_of(rows, box, row) or {})]


def _answer(rows: Rows, message: Message, kind: str, text: str, sender: str, role: str) -> None:
    """Put a word about a message into the box of its sender, unless that has ended."""
    box = box_of(message.sender, message.role)
    if box != HUMANS and rows.beat(box) is None:
        return
    number = mailbox.next_id(rows)
    told = Message(
        number, rows.now, sender, role, kind, text, box, (box,), message.thread, message.id,
        data={"message": message.id},
    )  # fmt: skip
    mailbox.put(rows, told)


def _start(message: Message) -> str:
    """Return how a message begins, in one line."""
    return cut(" ".join(message.text.split()), SHOWN)
