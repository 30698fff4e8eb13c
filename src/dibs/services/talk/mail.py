"""Messages: send and read.

The inbox is a view: reading it marks messages as read, but a briefing still delivers each message once.
"""

from __future__ import annotations

from dibs.core.talk.mail import Message, id_in
from dibs.core.text.names import quote
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


class Letter(Record):
    """A message and its state in one reader's box."""

    message: Message
    #: When it was read in the inbox; 0 for not yet.
    read: float = 0.0
    #: The number of the briefing that contained it; 0 for none yet.
    briefed: int = 0


def letter_of(message: Message, state: dict[str, Any]) -> Letter:
    """Return a message with its state in a box."""
    return Letter(message, state.get("read", 0.0), state.get("briefed", 0))


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
        request_id: str = "",
    ) -> Message:
        """Send a message to ``to``; a reply (``reply_to``) without it goes to the original's sender."""
        from dibs.services.talk.send import Saying, check, say

        saying = check(Saying(to, text, reply_to))
        return self._store.apply(lambda rows: say(rows, caller, saying, request_id))

    def inbox(
        self, caller: Caller, *, everything: bool = False, sent: bool = False
    ) -> list[Letter]:
        """Return unread messages, oldest first; or all messages, or sent messages."""
        self._store.settle()

        def step(rows: Rows) -> list[Letter]:
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
        sent: bool = False,
    ) -> tuple[list[Letter], int]:
        """Return the messages with these ids, or a page of what ``inbox`` returns, and how many are left.

        Unread messages come oldest first, and the next page continues once they are read; of all others, the
        newest are returned.
        """
        if ids:
            return self.some(caller, ids), 0
        found = self.inbox(caller, everything=everything, sent=sent)
        unread = not (everything or sent)
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


def _standing(rows: Rows, number: str) -> tuple[Message, dict[str, Letter]]:
    message = need(rows, number)
    row = mailbox.row_of(number)
    states = {box: mailbox.state_of(rows, box, row) or {} for box in message.boxes}
    return message, {box: letter_of(message, state) for box, state in states.items()}
