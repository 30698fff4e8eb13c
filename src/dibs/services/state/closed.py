"""A store in which nobody may work: its state went elsewhere, or is not all there yet.

One row says so. Every step looks at it in its own transaction, so that from the moment at which a store is
closed nobody is granted anything by it, however long ago they opened it.
"""

from __future__ import annotations

from dibs.core.text.urls import setting
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.services.state.rows import decode, encode
from dibs.services.state.store import CLOSED
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.engines.base import Txn

#: The row that says which moves this state has been through.
ORIGIN = "origin"


class ClosedReason(metaclass=TextEnum):
    """Why a store is closed."""

    #: Its state is being copied to another store; nothing is final yet.
    MOVING = "moving"
    #: Its state is elsewhere for good.
    MOVED = "moved"
    #: The state of another store is being copied here.
    ARRIVING = "arriving"


class Closure(Record):
    """That a store is closed, and why."""

    why: str
    #: Which move it is; both stores of a move have the same.
    id: str
    #: The other store, without its password.
    other: str
    #: Since when, on this engine's clock.
    at: float
    #: Whoever copies, while it does: a second one must not interfere.
    run: str = ""


def closure(txn: Txn) -> Closure | None:
    """Return why this store is closed, nothing if it is open."""
    value = txn.get(CLOSED)
    return None if value is None else _closure(value)


def close(txn: Txn, why: Closure) -> None:
    """Let nobody work in this store any more, from this transaction on."""
    txn.put(CLOSED, encode(why._asdict()))


def moves(txn: Txn) -> list[str]:
    """Return the moves that this state has been through, the earliest first."""
    value = txn.get(ORIGIN)
    found = _record(value).get("moves") if value is not None else None
    return [str(move) for move in found] if isinstance(found, list) else []


def refusal(value: str) -> DibsError:
    """Return the error for a step in a closed store, from the row that says so."""
    found = _closure(value)
    if found.why == ClosedReason.MOVED:
        return Misconfigured(
            f"the state of this project has moved to {found.other}",
            code="STORE_MOVED",
            field="engine",
            hint=f"write {setting(found.other)} into dibs.toml, and check DIBS_ENGINE",
        )
    moving = found.why == ClosedReason.MOVING
    way = f"to {found.other}" if moving else f"here from {found.other}"
    again = "if that was broken off, run the same `dibs engine migrate` again"
    return Unavailable(
        f"the state of this project is being moved {way}; nothing was changed",
        code="STORE_MOVING",
        hint=f"{again}, or with --cancel to stay" if moving else again,
    )


def _closure(value: str) -> Closure:
    """Read the row; one that cannot be read closes the store as well."""
    record = _record(value)
    fields = {name: str(record.get(name, "?")) for name in ("why", "id", "other", "run")}
    at = record.get("at")
    return Closure(at=float(at) if isinstance(at, int | float) else 0.0, **fields)


def _record(value: str) -> dict[str, Any]:
    try:
        record = decode(value)
    except (Unavailable, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
