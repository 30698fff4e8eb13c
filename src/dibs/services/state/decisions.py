"""Where decisions lie, inside a transaction.

- ``decision/<row>``: a decision; the row is its number in 16 digits
- ``open/<row>``: that it waits for somebody, and since when, so that nobody walks through the old ones
"""

from __future__ import annotations

from dibs.core.patterns.filing import Range
from dibs.core.talk.decisions import Comment, Decision, Outcome
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.services.state.rows import Rows

DECISION, OPEN = "decision/", "open/"


def row_of(decision: str) -> str:
    """Return how rows name a decision: so that their order is that of the decisions."""
    return f"{int(decision.removeprefix('d')):016d}"


def put_decision(rows: Rows, decision: Decision) -> None:
    """Write a decision, and whether it waits for somebody."""
    row = row_of(decision.id)
    record = decision._asdict()
    record["comments"] = [comment._asdict() for comment in decision.comments]
    rows.txn.put(f"{DECISION}{row}", encode(record))
    if decision.outcome == Outcome.PENDING:
        rows.txn.put(f"{OPEN}{row}", encode({"at": decision.at}))
    else:
        rows.txn.delete(f"{OPEN}{row}")


def get_decision(rows: Rows, decision: str) -> Decision | None:
    """Return the decision with this id, which has the form of one."""
    value = rows.txn.get(f"{DECISION}{row_of(decision)}")
    return None if value is None else decision_of(value)


def pending(rows: Rows) -> Iterator[Decision]:
    """Yield what waits for somebody, the oldest first."""
    for key, _ in list(rows.txn.scan(Range(OPEN))):
        value = rows.txn.get(DECISION + key.removeprefix(OPEN))
        if value is not None:
            yield decision_of(value)


def waiting_since(rows: Rows) -> list[float]:
    """Return since when each decision waits that waits for somebody, the oldest first."""
    return [decode(value)["at"] for _, value in rows.txn.scan(Range(OPEN))]


def decisions(rows: Rows) -> Iterator[Decision]:
    """Yield all decisions, the oldest first."""
    for _, value in rows.txn.scan(Range(DECISION)):
        yield decision_of(value)


def decision_of(value: str) -> Decision:
    """Return the decision that a row holds."""
    record = decode(value)
    record["comments"] = tuple(Comment(**comment) for comment in record["comments"])
    return Decision(**record)
