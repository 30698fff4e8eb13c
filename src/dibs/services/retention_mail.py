"""Forgetting old mail and what was told to the long gone; a bounded piece of work each time."""

from __future__ import annotations

from itertools import islice

from dibs.core.patterns.filing import Range
from dibs.core.talk.limits import MAX_UNREAD, forgettable
from dibs.core.talk.mail import HUMANS
from dibs.services.state import mailbox
from dibs.services.state.deliveries import outlived
from dibs.services.state.rows import decode
from dibs.services.talk.send import RATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.mail import Message
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk

#: How many messages are forgotten in one transaction.
BATCH = 1_000
#: After how long it does not matter any more how much an agent sent.
_MINUTE = 60.0


def trim(desk: Desk) -> int:
    """Forget messages that are old and told to all, and briefings of the ended; return how many messages."""
    keep = desk.config.mail_keep
    if not desk.look(lambda book: bool(_old(book, keep, 1)) or any(outlived(book, keep))):
        return 0

    def step(book: Book) -> int:
        old = _old(book, keep, BATCH)
        for message in old:
            _forget(book, message)
        for key in list(islice(outlived(book, keep), BATCH)):
            book.txn.delete(key)
        for key, value in list(book.txn.scan(Range(RATE))):
            if decode(value)[1] + _MINUTE <= book.now:
                book.txn.delete(key)
        return len(old)

    return desk.apply(step)


def _old(book: Book, keep: float, most: int) -> list[Message]:
    """Return messages that can be forgotten, the oldest first."""
    boxes = _Boxes(book)
    found: list[Message] = []
    for message in mailbox.messages(book):
        if message.at + keep > book.now or len(found) == most:
            break
        waiting = [box for box in message.boxes if boxes.waits(box, message.id)]
        crowded = all(boxes.crowded(box) for box in waiting)
        if forgettable(message, book.now, keep, told=not waiting, crowded=crowded):
            found.append(message)
    return found


class _Boxes:
    """What is known of boxes, looked up once for each."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._ended: dict[str, bool] = {}
        self._unread: dict[str, int] = {}

    def waits(self, box: str, number: str) -> bool:
        """Tell whether the owner of a box works, and has neither read a message nor been briefed of it."""
        if box not in self._ended:
            self._ended[box] = box != HUMANS and self._book.beat(box) is None
        state = mailbox.state_of(self._book, box, mailbox.row_of(number))
        return not self._ended[box] and state is not None and not state.keys() & {"read", "briefed"}

    def crowded(self, box: str) -> bool:
        """Tell whether more waits in a box than anybody would read."""
        if box not in self._unread:
            rows = self._book.txn.scan(Range(f"{mailbox.UNREAD}{box}/"))
            self._unread[box] = sum(1 for _ in rows)
        return self._unread[box] > MAX_UNREAD


def _forget(book: Book, message: Message) -> None:
    row = mailbox.row_of(message.id)
    book.txn.delete(f"{mailbox.MAIL}{row}")
    for box in message.boxes:
        book.txn.delete(f"{mailbox.BOX}{box}/{row}")
        book.txn.delete(f"{mailbox.UNREAD}{box}/{row}")
