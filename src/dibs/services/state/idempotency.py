"""Idempotency: a repeated request id returns the same result, and nothing happens twice."""

from __future__ import annotations

from dibs.core.claims.rules import Claim, Conflict, Denied, Granted, LeftWork, Wait
from dibs.errors import BadInput
from dibs.services.state.keys import REQUEST
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dibs.services.state.rows import Rows

    T = TypeVar("T")


#: How long a result is kept for repeats.
KEPT = 24 * 3600.0
MAX_REQUEST_ID = 128


def once(rows: Rows, agent: str, request_id: str, fingerprint: str, action: Callable[[], T]) -> T:
    """Run ``action``, unless ``agent`` already has a result for this request; then return that."""
    if not request_id:
        return action()
    earlier: T | None = answered(rows, agent, request_id, fingerprint)
    if earlier is not None:
        return earlier
    answer = action()
    remember(rows, agent, request_id, fingerprint, answer)
    return answer


def answered(rows: Rows, agent: str, request_id: str, fingerprint: str) -> Any:
    """Return the earlier result of this request by ``agent``, or None."""
    if len(request_id) > MAX_REQUEST_ID or not request_id.isprintable() or "/" in request_id:
        message = (
            f"a request id must have at most {MAX_REQUEST_ID} printable characters and no slash"
        )
        raise BadInput(message, code="REQUEST_ID", field="request_id")
    earlier = rows.txn.get(f"{REQUEST}{agent}/{request_id}")
    if earlier is None:
        return None
    record = decode(earlier)
    if record["asked"] != fingerprint:
        message = f"request id {request_id} was already used for a different request"
        raise BadInput(message, code="REQUEST_REUSED", field="request_id")
    return _revive(record["answer"])


def remember(rows: Rows, agent: str, request_id: str, fingerprint: str, answer: object) -> None:
    """Store a final result for repeats of its request."""
    stored = _store(answer)
    if stored is not None:
        _forget_old(rows, agent)
        record = {"asked": fingerprint, "at": rows.now, "answer": stored}
        rows.txn.put(f"{REQUEST}{agent}/{request_id}", encode(record))


def forget(rows: Rows, agent: str, request_id: str) -> None:
    """Drop the result of a request whose effect was undone, so that a repeat runs again."""
    rows.txn.delete(f"{REQUEST}{agent}/{request_id}")


def forget_grants(rows: Rows) -> None:
    """Drop all results that grant claims, because all claims are void; repeats run again."""
    for key, value in list(rows.txn.scan((REQUEST, ""))):
        answer = decode(value)["answer"]
        if isinstance(answer, dict) and "granted" in answer:
            rows.txn.delete(key)


def _forget_old(rows: Rows, agent: str) -> None:
    for key, value in list(rows.txn.scan((f"{REQUEST}{agent}/", ""))):
        if decode(value)["at"] + KEPT <= rows.now:
            rows.txn.delete(key)


def _store(answer: object) -> dict[str, Any] | None:
    """Return the stored form of a final result; None for a queued one, which is not final."""
    if isinstance(answer, Granted):
        return {"granted": answer}
    if isinstance(answer, Denied):
        return {"denied": answer}
    if isinstance(answer, (list, tuple)) and all(isinstance(item, Claim) for item in answer):
        return {"claims": answer}
    if isinstance(answer, list) and all(isinstance(item, str) for item in answer):
        return {"names": answer}
    return None


def _revive(stored: dict[str, Any]) -> Any:
    if "granted" in stored:
        claims, token, expires, fresh, *left = stored["granted"]
        held = tuple(Claim(*claim) for claim in claims)
        work = tuple(LeftWork(*one) for one in (left[0] if left else ()))
        return Granted(held, token, tuple(expires), tuple(fresh), work)
    if "denied" in stored:
        conflicts, why, cycle, *refusal = stored["denied"]
        waits = tuple(Wait(*wait) for wait in cycle)
        return Denied(tuple(Conflict(*c) for c in conflicts), why, waits, *refusal)
    if "names" in stored:
        return stored["names"]
    return [Claim(*claim) for claim in stored["claims"]]
