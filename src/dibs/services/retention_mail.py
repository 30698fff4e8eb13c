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
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many messages are forgotten in one transaction.
BATCH = 1_000
#: After how long it does not matter any more how much an agent sent.
_MINUTE = 60.0


def trim(store: Store) -> int:
    """Forget messages that are old and told to all, and briefings of the ended; return how many messages."""
    keep = store.config.mail_keep
    if not store.look(lambda rows: bool(_old(rows, keep, 1)) or any(outlived(rows, keep))):
        return 0

    def step(rows: Rows) -> int:
        old = _old(rows, keep, BATCH)
        for message in old:
            _forget(rows, message)
        for key in list(islice(outlived(rows, keep), BATCH)):
            rows.txn.delete(key)
        for key, value in list(rows.txn.scan(Range(RATE))):
            if decode(value)[1] + _MINUTE <= rows.now:
                rows.txn.delete(key)
        return len(old)

    return store.apply(step)


def _old(rows: Rows, keep: float, most: int) -> list[Message]:
    """Return messages that can be forgotten, the oldest first."""
    boxes = _Boxes(rows)
    found: list[Message] = []
    for message in mailbox.messages(rows):
        if message.at + keep > rows.now or len(found) == most:
            break
        waiting = [box for box in message.boxes if boxes.waits(box, message.id)]
        crowded = all(boxes.crowded(box) for box in waiting)
        if forgettable(message, rows.now, keep, told=not waiting, crowded=crowded):
            found.append(message)
    return found


class _Boxes:
    """What is known of boxes, looked up once for each."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._ended: dict[str, bool] = {}
        self._unread: dict[str, int] = {}

    def waits(self, box: str, number: str) -> bool:
        """Tell whether the owner of a box works, and has neither read a message nor been briefed of it."""
        if box not in self._ended:
            self._ended[box] = box != HUMANS and self._rows.beat(box) is None
        state = mailbox.state_of(self._rows, box, mailbox.row_of(number))
        return not self._ended[box] and state is not None and not state.keys() & {"read", "briefed"}

    def crowded(self, box: str) -> bool:
        """Tell whether more waits in a box than anybody would read."""
        if box not in self._unread:
            rows = self._rows.txn.scan(Range(f"{mailbox.UNREAD}{box}/"))
            self._unread[box] = sum(1 for _ in rows)
        return self._unread[box] > MAX_UNREAD


def _forget(rows: Rows, message: Message) -> None:
    row = mailbox.row_of(message.id)
    rows.txn.delete(f"{mailbox.MAIL}{row}")
    for box in message.boxes:
        rows.txn.delete(f"{mailbox.BOX}{box}/{row}")
        rows.txn.delete(f"{mailbox.UNREAD}{box}/{row}")
