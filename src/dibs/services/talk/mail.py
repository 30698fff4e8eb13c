"""Messages: send, read, and acknowledge.

The inbox is a view: reading it marks messages as read, but a briefing still delivers each message once.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind, Message, box_of, id_in
from dibs.core.text.names import cut, few, quote
from dibs.errors import NotFound
from dibs.services.state import mailbox
from dibs.services.state.presence import arrive
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many messages one page has.
PAGE = 50
#: How much of a message an acknowledgment quotes.
SHOWN = 60


class Letter(Record):
    """A message and its state in one reader's box."""

    message: Message
    #: When it was read in the inbox and when it was acknowledged; 0 for not yet.
    read: float = 0.0
    acked: float = 0.0
    #: The number of the briefing that contained it; 0 for none yet.
    briefed: int = 0


def letter_of(message: Message, state: dict[str, Any]) -> Letter:
    """Return a message with its state in a box."""
    return Letter(message, state.get("read", 0.0), state.get("acked", 0.0), state.get("briefed", 0))


class Mail:
    """Use cases of messages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def say(
        self,
        caller: Caller,
        to: str,
        text: str,
        *,
        reply_to: str = "",
        everybody: bool = False,
        priority: str = "normal",
        wants_ack: bool = False,
        within: object = None,
        request_id: str = "",
    ) -> Message:
        """Send a message to ``to``.

        A reply (``reply_to``) with an empty ``to`` goes to the sender of the original; with ``everybody``, to
        everyone in the thread.
        """
        from dibs.services.talk.send import Saying, check, say

        saying = check(Saying(to, text, reply_to, everybody, priority, wants_ack), within)
        return self._store.apply(
            lambda rows: say(rows, caller, saying, self._store.config.mail_rate, request_id)
        )

    def inbox(
        self, caller: Caller, *, everything: bool = False, thread: str = "", sent: bool = False
    ) -> list[Letter]:
        """Return unread messages, oldest first; or all messages, a thread, or sent messages."""
        self._store.settle()

        def step(rows: Rows) -> list[Letter]:
            if thread:
                return _thread(rows, caller, thread)
            if sent:
                return [Letter(m) for m in mailbox.messages(rows) if m.sender == caller.id]
            found = letters(rows, caller)
            return [letter for letter in found if everything or not letter.read]

        return self._store.look(step)

    def page(
        self,
        caller: Caller,
        ids: Sequence[str] = (),
        *,
        everything: bool = False,
        thread: str = "",
        sent: bool = False,
    ) -> tuple[list[Letter], int]:
        """Return the messages with these ids, or a page of what ``inbox`` returns, and how many are left.

        Unread messages come oldest first, and the next page continues once they are read; of all others, the
        newest are returned.
        """
        if ids:
            return self.some(caller, ids), 0
        found = self.inbox(caller, everything=everything, thread=thread, sent=sent)
        unread = not (everything or thread or sent)
        chosen = found[:PAGE] if unread else found[-PAGE:]
        return chosen, len(found) - len(chosen)

    def follow(self, caller: Caller, *, poll: float = 1.0) -> Iterator[list[Letter]]:
        """Yield the unread messages immediately and after every change, even if there are none."""
        newest = self._store.engine.wait(0, 0)
        while True:
            yield self.inbox(caller)
            newest = self._store.engine.wait(newest, poll)

    def read(self, caller: Caller, ids: Iterable[str]) -> None:
        """Mark messages as read; ignore messages that are not in the caller's boxes."""
        listed = [mailbox.row_of(check_id(number)) for number in ids]
        if not listed:
            return

        def step(rows: Rows) -> None:
            arrive(rows, caller)
            for box in mailbox.boxes_of(caller.id, human=caller.human):
                for row in listed:
                    mailbox.mark_read(rows, box, row)

        self._store.apply(step)

    def ack(self, caller: Caller, ids: Sequence[str]) -> list[Message]:
        """Acknowledge messages, and notify senders that asked for it. A repeat changes nothing."""
        numbers = [check_id(number) for number in ids]

        def step(rows: Rows) -> list[Message]:
            beat = arrive(rows, caller)
            return [acknowledge(rows, caller, beat.role, number) for number in numbers]

        return self._store.apply(step)

    def some(self, caller: Caller, ids: Sequence[str]) -> list[Letter]:
        """Return messages by id; the caller must have sent or received them."""

        def step(rows: Rows) -> list[Letter]:
            mine = {letter.message.id: letter for letter in letters(rows, caller)}
            found = []
            for number in ids:
                message = need(rows, check_id(number))
                if not concerns(message, caller):
                    raise no_message(number)
                found.append(mine.get(message.id, Letter(message)))
            return found

        return self._store.look(step)

    def show(self, number: str) -> tuple[Message, dict[str, Letter]]:
        """Return a message and its state in each of its boxes."""
        return self._store.look(lambda rows: _standing(rows, check_id(number)))


def check_id(number: str) -> str:
    """Return a message id; refuse what cannot be one."""
    found = id_in(number)
    if not found:
        raise no_message(number)
    return found


def need(rows: Rows, number: str) -> Message:
    """Return the message with this id."""
    message = mailbox.message_at(rows, number)
    if message is None:
        raise no_message(number)
    return message


def no_message(number: str) -> NotFound:
    """Return the error for a message that does not exist or is not the caller's."""
    return NotFound(
        f"you have no message {quote(number)}",
        code="NO_MESSAGE",
        field="message",
        hint="`dibs inbox --all` lists yours; old ones are deleted",
    )


def concerns(message: Message, caller: Caller) -> bool:
    """Return whether the caller sent or received a message; humans may see all."""
    own = mailbox.boxes_of(caller.id, human=caller.human)
    return caller.human or message.sender == caller.id or any(b in own for b in message.boxes)


def letters(rows: Rows, caller: Caller) -> list[Letter]:
    """Return all messages in the caller's boxes, oldest first."""
    found: dict[str, Letter] = {}
    for box in mailbox.boxes_of(caller.id, human=caller.human):
        for row, state in mailbox.box_rows(rows, box):
            message = mailbox.message_in(rows, row)
            if message is not None and row not in found:
                found[row] = letter_of(message, state)
    return [found[row] for row in sorted(found)]


def _thread(rows: Rows, caller: Caller, number: str) -> list[Letter]:
    """Return a message's thread, limited to messages that the caller sent or received."""
    first = need(rows, check_id(number))
    if not concerns(first, caller):
        raise no_message(number)
    mine = {letter.message.id: letter for letter in letters(rows, caller)}
    return [
        mine.get(message.id, Letter(message))
        for message in mailbox.messages(rows)
        if message.thread == first.thread and concerns(message, caller)
    ]


def _standing(rows: Rows, number: str) -> tuple[Message, dict[str, Letter]]:
    message = need(rows, number)
    row = mailbox.row_of(number)
    states = {box: mailbox.state_of(rows, box, row) or {} for box in message.boxes}
    return message, {box: letter_of(message, state) for box, state in states.items()}


# -- acknowledgments: the sender is notified when one arrives, and once if it is overdue


def acknowledge(rows: Rows, caller: Caller, role: str, number: str) -> Message:
    """Record the caller's acknowledgment of a message in one of its boxes, and notify the sender."""
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
        f"{reader} acknowledged {message.id} from {message.sender}",
        to=message.sender, thread=message.thread, acknowledges=message.id,
        **mailbox.recipient(rows, message.sender),
    )  # fmt: skip
    text = f"{reader} acknowledged {message.id}: {_start(message)}"
    _answer(rows, message, MailKind.ACKNOWLEDGED, text, reader, role)
    if message.due and not missing(rows, message):
        from dibs.services.state import deadlines

        deadlines.drop(rows, message.due, "mail", message.id)


def overdue(_: Store, rows: Rows, number: str) -> None:
    """Notify a message's sender who has not acknowledged it in time, if anyone."""
    message = mailbox.message_at(rows, number)
    late = missing(rows, message) if message is not None else []
    if message is None or not late:
        return
    names = few([name.removeprefix("@") for name in late], 5)
    text = f"{names} did not acknowledge {number} in time: {_start(message)}"
    rows.emit(
        message.sender, message.role, Kind.MESSAGE_SENT,
        f"{names} did not acknowledge {number} from {message.sender} in time",
        to=message.to, thread=message.thread, overdue=number,
    )  # fmt: skip
    _answer(rows, message, MailKind.OVERDUE, text, "", "")


def missing(rows: Rows, message: Message) -> list[str]:
    """Return the boxes whose owners have not acknowledged a message."""
    row = mailbox.row_of(message.id)
    return [box for box in message.boxes if "acked" not in (mailbox.state_of(rows, box, row) or {})]


def _answer(rows: Rows, message: Message, kind: str, text: str, sender: str, role: str) -> None:
    """Notify a message's sender, unless it has ended."""
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
    """Return the start of a message, in one line."""
    return cut(" ".join(message.text.split()), SHOWN)
