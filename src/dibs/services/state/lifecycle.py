"""The lifecycle of a store: open or closed, migrated to another engine, restarted after a loss.

One row marks a store as closed. Every step reads it in its own transaction, so from that moment no
one is granted anything, however long ago they opened the store.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.ledger import Event, Kind
from dibs.core.claims.rules import Lost, live
from dibs.core.text.urls import setting
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.services.state import deadlines
from dibs.services.state.keys import (
    ALERT,
    ASK,
    AT,
    BEAT,
    CLOSED,
    DECISION,
    DUE,
    IN,
    JOB,
    MAIL,
    OFFER,
    OPEN,
    ORIGIN,
    PROBE,
    RATE,
    WAIT,
    WATCH,
)
from dibs.services.state.presence import close_asks, take_off
from dibs.services.state.rows import Rows, claim_at, decode, encode
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim
    from dibs.engines.base import Txn

    Row = tuple[str, str]

#: The agent of ledger entries that the store itself writes.
STORE = "dibs"
#: Fields that contain times, by key prefix; a heartbeat and a rate are arrays. 0 means no time.
_MOMENTS: tuple[tuple[tuple[str, ...], tuple[str | int, ...]], ...] = (
    ((AT, IN), ("since", "hard")),
    ((BEAT,), (0, 2, 7, 8)),
    ((WAIT,), ("since", "seen", "until", "collect_by")),
    ((ASK,), ("at", "until", "answered", "promised")),
    ((RATE,), (1,)),
    ((MAIL,), ("at", "due", "data.until")),
    ((DECISION,), ("at", "deadline", "decided_at")),
    ((OPEN, WATCH), ("at",)),
    ((ALERT,), ("at", "changed", "last")),
    ((OFFER,), ("until",)),
    ((JOB,), ("started", "until")),
)


class ClosedReason(metaclass=TextEnum):
    """Why a store is closed."""

    #: Its state is being copied to another store; this can still be canceled.
    MOVING = "moving"
    #: Its state was migrated to another store.
    MOVED = "moved"
    #: Another store's state is being copied here.
    ARRIVING = "arriving"


class Closure(Record):
    """Marks a store as closed, with the reason."""

    why: str
    #: The id of the migration, the same in both stores.
    id: str
    #: The other store, without its password.
    other: str
    #: When it was closed, on this engine's clock.
    at: float
    #: The run that is copying; no other run may interfere.
    run: str = ""


def closure(txn: Txn) -> Closure | None:
    """Return why this store is closed; None if it is open."""
    value = txn.get(CLOSED)
    return None if value is None else _closure(value)


def close(txn: Txn, why: Closure) -> None:
    """Close this store for everyone, from this transaction on."""
    txn.put(CLOSED, encode(why._asdict()))


def reopen(txn: Txn, why: Closure) -> None:
    """Open a store again whose migration was canceled."""
    txn.delete(CLOSED)
    record_move(txn, f"canceled the migration to {why.other}", why)


def open_moved(txn: Txn, why: Closure, past: list[str]) -> None:
    """Open the target of a migration; ``why`` names the source."""
    txn.delete(CLOSED)
    txn.put(ORIGIN, encode({"moves": [*past, why.id], "from": why.other}))
    record_move(txn, f"migrated from {why.other}", why)


def record_move(txn: Txn, summary: str, move: Closure) -> None:
    """Record a migration in the ledger."""
    txn.emit(Event(STORE, "store", Kind.STORE_MOVED, summary, {"move": move.id}))


def moves(txn: Txn) -> list[str]:
    """Return the migrations that this state has been through, earliest first."""
    value = txn.get(ORIGIN)
    found = _record(value).get("moves") if value is not None else None
    return [str(move) for move in found] if isinstance(found, list) else []


def refusal(value: str) -> DibsError:
    """Return the error for a step in a closed store, from the row that closed it."""
    found = _closure(value)
    if found.why == ClosedReason.MOVED:
        return Misconfigured(
            f"this project's state was migrated to {found.other}",
            code="STORE_MOVED",
            field="engine",
            hint=f"set {setting(found.other)} in dibs.toml, and check DIBS_ENGINE",
        )
    moving = found.why == ClosedReason.MOVING
    way = f"to {found.other}" if moving else f"here from {found.other}"
    again = "if the migration was interrupted, run the same `dibs engine migrate` command again"
    return Unavailable(
        f"this project's state is being migrated {way}; nothing was changed",
        code="STORE_MOVING",
        hint=f"{again}, or add --cancel to undo it" if moving else again,
    )


def _closure(value: str) -> Closure:
    """Parse the row; an unreadable one closes the store too."""
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


# -- copying a store


def contents(txn: Txn, prefix: str = "") -> Iterator[Row]:
    """Yield all rows, or those that start with ``prefix``, except those about the store itself."""
    for row in txn.scan((prefix, "")):
        if row[0] not in {CLOSED, ORIGIN} and not row[0].startswith(PROBE):
            yield row


def deadline_rows(txn: Txn) -> Iterator[Row]:
    """Yield the rows whose keys contain times."""
    return contents(txn, DUE)


def entries(txn: Txn, after: int = 0) -> Iterator[Entry]:
    """Yield the ledger entries after a number."""
    return txn.events(after)


def newest(txn: Txn) -> int:
    """Return the number of the newest ledger entry, or 0."""
    return next((entry.seq for entry in txn.events(newest_first=True)), 0)


def remove(txn: Txn, keys: Iterable[str]) -> None:
    """Delete rows."""
    for key in keys:
        txn.delete(key)


def write(txn: Txn, rows: Iterable[Row]) -> None:
    """Write rows unchanged."""
    for key, value in rows:
        txn.put(key, value)


def restore(txn: Txn, copied: Iterable[Entry]) -> None:
    """Write ledger entries with their numbers."""
    for entry in copied:
        txn.restore(entry)


def probe(txn: Txn, name: str) -> None:
    """Write a test row, and delete those that a killed measurement left."""
    remove(txn, [key for key, _ in txn.scan((PROBE, ""))])
    if name:
        txn.put(PROBE + name, "1")


def live_claims(rows: Iterable[Row], at: float) -> dict[str, Claim]:
    """Return the claims that were live at time ``at``, by key."""
    found = dict(rows)
    held = {}
    for key, value in found.items():
        record = decode(value) if key.startswith((AT, IN)) else {}
        if "token" in record:
            claim = claim_at(key, record)
            beat = found.get(f"{BEAT}{claim.agent}")
            if live(claim, decode(beat)[0] if beat is not None else 0.0, at):
                held[key] = claim
    return held


def carried(rows: list[Row], at: float, shift: float, shortest: float) -> Iterator[Row]:
    """Yield the rows that differ in another store.

    Times move by ``shift``. Claims that were live at ``at`` get a ttl that the store supports.
    """
    held = live_claims(rows, at)
    for key, value in rows:
        if key.startswith(DUE):
            yield deadlines.shifted(key, shift), value
        for prefixes, fields in _MOMENTS:
            if key.startswith(prefixes):
                record = _shifted(decode(value), fields, shift)
                if key in held:
                    record["ttl"] = max(record["ttl"], shortest)
                text = encode(record)
                if text != value:
                    yield key, text


def _shifted(record: Any, fields: tuple[str | int, ...], shift: float) -> Any:
    for field in fields:
        outer, _, name = field.rpartition(".") if isinstance(field, str) else ("", "", field)
        inner = record[outer] if outer else record
        moment = inner.get(name) if isinstance(inner, dict) else next(iter(inner[name:]), 0)
        if moment and moment < NEVER:
            inner[name] = moment + shift
    return record


# -- starting a new life


def begin_life(txn: Txn, why: str, *, fold_case: bool = True) -> None:
    """Void every claim of the previous life and record that, in the transaction that starts the new one.

    A store can lose its newest writes: a server failed over, was emptied, or its clock jumped. No
    one knows which grants were lost, so the tokens of all remaining claims are fenced and their
    owners have to claim again. Claims that a script took without a token stay: its lock file
    expires by age.
    """
    from dibs.services.state.damage import without_damaged
    from dibs.services.state.idempotency import forget_grants

    # A damaged row stays and keeps blocking its path, but must not keep the life from starting.
    rows = Rows(without_damaged(txn), fold_case=fold_case)
    claims = [(key, claim) for key, claim in rows.claims() if claim.token]
    asks = list(rows.asks())
    void: set[tuple[str, str]] = set()
    for key, claim in claims:
        take_off(rows, key, claim, Lost(claim.pattern, claim.token, "void", rows.now, "", why))
        void.add((claim.agent, rows.pattern(claim.pattern).key))
    close_asks(rows, [(k, a) for k, a in asks if (a.holder, rows.pattern(a.pattern).key) in void])
    forget_grants(rows)
    voided = "1 claim is void" if len(claims) == 1 else f"{len(claims)} claims are void"
    rows.emit(
        STORE, "store", Kind.LEDGER_RESTARTED,
        f"the store started a new life: {why}; {voided}",
        why=why, claims=len(claims),
    )  # fmt: skip
    rows.flush()
