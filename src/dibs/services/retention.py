"""Delete old messages, briefings, and decisions, a limited number at a time; the ledger stays."""

from __future__ import annotations

from dibs.core.talk.decision_rules import KEPT_FOR, is_old
from dibs.core.talk.limits import KEEP, MAX_UNREAD, forgettable
from dibs.core.talk.mail import HUMANS
from dibs.services.state import mailbox
from dibs.services.state.decisions import decisions, drop_decision
from dibs.services.state.deliveries import forget_outlived, outlived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.mail import Message
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many messages or decisions one transaction deletes.
BATCH = 1_000
#: The period of the rate limit, in seconds.
_MINUTE = 60.0


def trim(store: Store) -> None:
    """Delete old messages and decisions."""
    trim_mail(store)
    trim_decisions(store)


def trim_mail(store: Store) -> int:
    """Delete old delivered messages and the briefings of ended agents; return how many messages."""
    if not store.look(lambda rows: bool(_old_mail(rows, 1)) or any(outlived(rows, KEEP))):
        return 0

    def step(rows: Rows) -> int:
        old = _old_mail(rows, BATCH)
        for message in old:
            mailbox.forget(rows, message)
        forget_outlived(rows, KEEP, BATCH)
        mailbox.forget_rates(rows, _MINUTE)
        return len(old)

    return store.apply(step)


def _old_mail(rows: Rows, most: int) -> list[Message]:
    """Return messages that can be deleted, the oldest first."""
    boxes = _Boxes(rows)
    found: list[Message] = []
    for message in mailbox.messages(rows):
        if message.at + KEEP > rows.now or len(found) == most:
            break
        waiting = [box for box in message.boxes if boxes.waits(box, message.id)]
        crowded = all(boxes.crowded(box) for box in waiting)
        if forgettable(message, rows.now, told=not waiting, crowded=crowded):
            found.append(message)
    return found


class _Boxes:
    """A cache of inbox states."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._ended: dict[str, bool] = {}
        self._unread: dict[str, int] = {}

    def waits(self, box: str, number: str) -> bool:
        """Return whether an inbox's owner has not ended and has not yet seen a message."""
        if box not in self._ended:
            self._ended[box] = box != HUMANS and self._rows.beat(box) is None
        state = mailbox.state_of(self._rows, box, mailbox.row_of(number))
        return not self._ended[box] and state is not None and not state.keys() & {"read", "briefed"}

    def crowded(self, box: str) -> bool:
        """Return whether an inbox has more unread messages than anyone would read."""
        if box not in self._unread:
            self._unread[box] = sum(1 for _ in mailbox.unread_rows(self._rows, box))
        return self._unread[box] > MAX_UNREAD


def trim_decisions(store: Store) -> int:
    """Delete old decisions; return how many."""
    if not store.look(lambda rows: _old_decisions(rows, 1)):
        return 0

    def step(rows: Rows) -> int:
        old = _old_decisions(rows, BATCH)
        for id_ in old:
            drop_decision(rows, id_)
        return len(old)

    return store.apply(step)


def _old_decisions(rows: Rows, most: int) -> list[str]:
    """Return decisions that can be deleted, the oldest first."""
    found: list[str] = []
    for decision in decisions(rows):
        if decision.at + KEPT_FOR > rows.now or len(found) == most:
            break
        if is_old(decision, rows.now):
            found.append(decision.id)
    return found
