"""The rows of decisions, of those that wait for somebody, and of what a human refused."""

from __future__ import annotations

from dibs.core.talk.decisions import Comment, Decision, Outcome
from dibs.services.state.keys import DECISION, OPEN, REFUSED
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.services.state.rows import Rows


def _row(decision: str) -> str:
    return f"{int(decision.removeprefix('d')):016d}"


def put_decision(rows: Rows, decision: Decision) -> None:
    """Write a decision, and whether it waits for somebody."""
    row = _row(decision.id)
    record = decision._asdict()
    record["comments"] = [comment._asdict() for comment in decision.comments]
    rows.txn.put(f"{DECISION}{row}", encode(record))
    if decision.outcome == Outcome.PENDING:
        rows.txn.put(f"{OPEN}{row}", encode({"at": decision.at}))
    else:
        rows.txn.delete(f"{OPEN}{row}")


def get_decision(rows: Rows, decision: str) -> Decision | None:
    """Return the decision with this id, which has the form of one."""
    value = rows.txn.get(f"{DECISION}{_row(decision)}")
    return None if value is None else _decision(value)


def drop_decision(rows: Rows, decision: str) -> None:
    """Forget a decision that was made."""
    rows.txn.delete(f"{DECISION}{_row(decision)}")


def pending(rows: Rows) -> Iterator[Decision]:
    """Yield what waits for somebody, the oldest first."""
    for key, _ in list(rows.txn.scan((OPEN, ""))):
        value = rows.txn.get(DECISION + key.removeprefix(OPEN))
        if value is not None:
            yield _decision(value)


def waiting_since(rows: Rows) -> list[float]:
    """Return since when each decision waits that waits for somebody, the oldest first."""
    return [decode(value)["at"] for _, value in rows.txn.scan((OPEN, ""))]


def decisions(rows: Rows) -> Iterator[Decision]:
    """Yield all decisions, the oldest first."""
    for _, value in rows.txn.scan((DECISION, "")):
        yield _decision(value)


def _decision(value: str) -> Decision:
    record = decode(value)
    record["comments"] = tuple(Comment(**comment) for comment in record["comments"])
    return Decision(**record)


# -- what a human refused, for all that waited with a ticket


def put_refusal(rows: Rows, ticket: int, refusal: dict[str, Any], keep: float) -> None:
    """Leave word that a human refused what a ticket waited for; forget what is older than ``keep``."""
    for key, value in list(rows.txn.scan((REFUSED, ""))):
        if decode(value)["at"] + keep <= rows.now:
            rows.txn.delete(key)
    rows.txn.put(f"{REFUSED}{ticket:016d}", encode({"at": rows.now, **refusal}))


def get_refusal(rows: Rows, ticket: int) -> dict[str, Any] | None:
    """Return what a human said to all who waited with this ticket."""
    value = rows.txn.get(f"{REFUSED}{ticket:016d}")
    found: dict[str, Any] | None = None if value is None else decode(value)
    return found
