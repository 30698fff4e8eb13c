"""Forgetting old mail, briefings and decisions, a bounded number each time; the ledger stays."""

from __future__ import annotations

from dibs.core.talk.decision_rules import KEPT_FOR, is_old
from dibs.core.talk.limits import MAX_UNREAD, forgettable
from dibs.core.talk.mail import HUMANS
from dibs.services.state import mailbox
from dibs.services.state.decisions import decisions, drop_decision
from dibs.services.state.deliveries import forget_outlived, outlived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.mail import Message
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many messages or decisions are forgotten in one transaction.
BATCH = 1_000
#: After how long it does not matter any more how much an agent sent.
_MINUTE = 60.0


def trim(store: Store) -> None:
    """Forget what is old."""
    trim_mail(store)
    trim_decisions(store)


def trim_mail(store: Store) -> int:
    """Forget messages that are old and told to all, and briefings of the ended; return how many messages."""
    keep = store.config.mail_keep
    if not store.look(lambda rows: bool(_old_mail(rows, keep, 1)) or any(outlived(rows, keep))):
        return 0

    def step(rows: Rows) -> int:
        old = _old_mail(rows, keep, BATCH)
        for message in old:
            mailbox.forget(rows, message)
        forget_outlived(rows, keep, BATCH)
        mailbox.forget_rates(rows, _MINUTE)
        return len(old)

    return store.apply(step)


def _old_mail(rows: Rows, keep: float, most: int) -> list[Message]:
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
            self._unread[box] = sum(1 for _ in mailbox.unread_rows(self._rows, box))
        return self._unread[box] > MAX_UNREAD


def trim_decisions(store: Store) -> int:
    """Forget decisions that were made long ago; return how many."""
    if not store.look(lambda rows: _old_decisions(rows, 1)):
        return 0

    def step(rows: Rows) -> int:
        old = _old_decisions(rows, BATCH)
        for id_ in old:
            drop_decision(rows, id_)
        return len(old)

    return store.apply(step)


def _old_decisions(rows: Rows, most: int) -> list[str]:
    """Return decisions that can be forgotten, the oldest first."""
    found: list[str] = []
    for decision in decisions(rows):
        if decision.at + KEPT_FOR > rows.now or len(found) == most:
            break
        if is_old(decision, rows.now):
            found.append(decision.id)
    return found
