"""Make everything that a store knows older, instead of waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.agents import NEVER
from dibs.services.state.deadlines import mark
from dibs.services.state.keys import ASK, AT, BEAT, DUE, IN, MAIL, WAIT
from dibs.services.state.rows import decode, encode

if TYPE_CHECKING:
    from typing import Any

    from dibs.engines.base import Txn

#: Fields that contain times, by key prefix; a heartbeat is an array. 0 means no time.
TIMES = {
    AT: ("since", "hard"),
    IN: ("since", "hard"),
    BEAT: (0, 2, 7, 8),
    WAIT: ("since", "seen", "until", "collect_by"),
    ASK: ("at", "until", "answered", "promised"),
    MAIL: ("at",),
}


def age(txn: Txn, seconds: float) -> None:
    """Move the times of claims, heartbeats, tickets, requests, messages, and deadlines into the past."""
    for key, value in list(txn.scan((DUE, ""))):
        prefix, moment, rest = key.split("/", 2)
        txn.delete(key)
        txn.put(f"{prefix}/{mark(float(moment) - seconds)}/{rest}", value)
    for prefix, fields in TIMES.items():
        for key, value in list(txn.scan((prefix, ""))):
            txn.put(key, encode(moved(decode(value), fields, seconds)))


def moved(record: Any, fields: tuple[str | int, ...], seconds: float) -> Any:
    """Return a row whose times are ``seconds`` earlier."""
    known = range(len(record)) if isinstance(record, list) else record
    for field in fields:
        if field in known and record[field] and record[field] < NEVER:
            record[field] -= seconds
    return record
