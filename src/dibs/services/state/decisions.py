"""Rows of decisions, of pending ones, and of requests that a human refused."""

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
    """Write a decision, and whether it is pending."""
    row = _row(decision.id)
    record = decision._asdict()
    record["comments"] = [comment._asdict() for comment in decision.comments]
    rows.txn.put(f"{DECISION}{row}", encode(record))
    if decision.outcome == Outcome.PENDING:
        rows.txn.put(f"{OPEN}{row}", encode({"at": decision.at}))
    else:
        rows.txn.delete(f"{OPEN}{row}")


def get_decision(rows: Rows, decision: str) -> Decision | None:
    """Return the decision with this id, which must be well-formed."""
    value = rows.txn.get(f"{DECISION}{_row(decision)}")
    return None if value is None else _decision(value)


def drop_decision(rows: Rows, decision: str) -> None:
    """Delete a decision."""
    rows.txn.delete(f"{DECISION}{_row(decision)}")


def pending(rows: Rows) -> Iterator[Decision]:
    """Yield the pending decisions, oldest first."""
    for key, _ in list(rows.txn.scan((OPEN, ""))):
        value = rows.txn.get(DECISION + key.removeprefix(OPEN))
        if value is not None:
            yield _decision(value)


def decisions(rows: Rows) -> Iterator[Decision]:
    """Yield all decisions, oldest first."""
    for _, value in rows.txn.scan((DECISION, "")):
        yield _decision(value)


def _decision(value: str) -> Decision:
    record = decode(value)
    record["comments"] = tuple(Comment(**comment) for comment in record["comments"])
    return Decision(**record)


# -- queued requests that a human refused


def put_refusal(rows: Rows, ticket: int, refusal: dict[str, Any], keep: float) -> None:
    """Record that a human refused a queued request; delete records older than ``keep``."""
    for key, value in list(rows.txn.scan((REFUSED, ""))):
        if decode(value)["at"] + keep <= rows.now:
            rows.txn.delete(key)
    rows.txn.put(f"{REFUSED}{ticket:016d}", encode({"at": rows.now, **refusal}))


def get_refusal(rows: Rows, ticket: int) -> dict[str, Any] | None:
    """Return a human's refusal of the request with this ticket."""
    value = rows.txn.get(f"{REFUSED}{ticket:016d}")
    found: dict[str, Any] | None = None if value is None else decode(value)
    return found
