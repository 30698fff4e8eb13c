"""Forgetting old decisions, so that they do not grow for ever; what was decided stays in the ledger."""

from __future__ import annotations

from dibs.core.talk.decision_rules import KEPT_FOR, is_old
from dibs.services.state.decisions import DECISION, decisions, row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk

#: How many decisions are forgotten in one transaction.
BATCH = 1_000


def trim(desk: Desk) -> int:
    """Forget decisions that were made long ago; return how many."""
    if not desk.look(lambda book: _old(book, 1)):
        return 0

    def step(book: Book) -> int:
        old = _old(book, BATCH)
        for id_ in old:
            book.txn.delete(f"{DECISION}{row_of(id_)}")
        return len(old)

    return desk.apply(step)


def _old(book: Book, most: int) -> list[str]:
    """Return decisions that can be forgotten, the oldest first."""
    found: list[str] = []
    for decision in decisions(book):
        if decision.at + KEPT_FOR > book.now or len(found) == most:
            break
        if is_old(decision, book.now):
            found.append(decision.id)
    return found
