"""Forgetting old decisions, so that they do not grow for ever; what was decided stays in the ledger."""

from __future__ import annotations

from dibs.core.talk.decision_rules import KEPT_FOR, is_old
from dibs.services.state.decisions import DECISION, decisions, row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How many decisions are forgotten in one transaction.
BATCH = 1_000


def trim(store: Store) -> int:
    """Forget decisions that were made long ago; return how many."""
    if not store.look(lambda rows: _old(rows, 1)):
        return 0

    def step(rows: Rows) -> int:
        old = _old(rows, BATCH)
        for id_ in old:
            rows.txn.delete(f"{DECISION}{row_of(id_)}")
        return len(old)

    return store.apply(step)


def _old(rows: Rows, most: int) -> list[str]:
    """Return decisions that can be forgotten, the oldest first."""
    found: list[str] = []
    for decision in decisions(rows):
        if decision.at + KEPT_FOR > rows.now or len(found) == most:
            break
        if is_old(decision, rows.now):
            found.append(decision.id)
    return found
