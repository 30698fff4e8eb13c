"""The life of a store: open or closed, moved to another engine, and begun anew after a loss.

One row says that a store is closed. Every step looks at it in its own transaction, so that from that moment
nobody is granted anything by it, however long ago they opened it.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.claims.ledger import Event, Kind
from dibs.core.claims.rules import Lost, live
from dibs.core.text.urls import setting
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.services.state import deadlines
from dibs.services.state.keys import (
    ASK,
    AT,
    BEAT,
    CLOSED,
    DECISION,
    DUE,
    IN,
    MAIL,
    OFFER,
    OPEN,
    ORIGIN,
    PROBE,
    RATE,
    WAIT,
)
from dibs.services.state.presence import take_off
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

#: Who speaks in the ledger where no agent acts.
STORE = "dibs"
#: Which fields of a row are moments, by what its key begins with; a beat and a rate are arrays. Where a field
#: is 0, there is no such moment.
_MOMENTS: tuple[tuple[tuple[str, ...], tuple[str | int, ...]], ...] = (
    ((AT, IN), ("since", "hard")),
    ((BEAT,), (0, 2)),
    ((WAIT,), ("since", "seen", "until")),
    ((ASK,), ("at", "until", "answered", "promised")),
    ((RATE,), (1,)),
    ((MAIL,), ("at", "due", "data.until")),
    ((DECISION,), ("at", "deadline", "decided_at")),
    ((OPEN,), ("at",)),
    ((OFFER,), ("until",)),
)


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


def reopen(txn: Txn, why: Closure) -> None:
    """Let work go on in a store whose move was cancelled."""
    txn.delete(CLOSED)
    tell_move(txn, f"canceled the migration to {why.other}", why)


def open_moved(txn: Txn, why: Closure, past: list[str]) -> None:
    """Let work begin in the store that a state was moved to; ``why`` says from where."""
    txn.delete(CLOSED)
    txn.put(ORIGIN, encode({"moves": [*past, why.id], "from": why.other}))
    tell_move(txn, f"migrated from {why.other}", why)


def tell_move(txn: Txn, summary: str, move: Closure) -> None:
    """Write about a move into the ledger."""
    txn.emit(Event(STORE, "store", Kind.STORE_MOVED, summary, {"move": move.id}))


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


# -- copying a store


def contents(txn: Txn, prefix: str = "") -> Iterator[Row]:
    """Yield all rows, or those that begin with ``prefix``, but those of the store itself."""
    for row in txn.scan((prefix, "")):
        if row[0] not in {CLOSED, ORIGIN} and not row[0].startswith(PROBE):
            yield row


def deadline_rows(txn: Txn) -> Iterator[Row]:
    """Yield the rows whose keys are moments."""
    return contents(txn, DUE)


def entries(txn: Txn, after: int = 0) -> Iterator[Entry]:
    """Yield the entries of the ledger after a number."""
    return txn.events(after)


def newest(txn: Txn) -> int:
    """Return the number of the newest entry of the ledger, 0 if there is none."""
    return next((entry.seq for entry in txn.events(newest_first=True)), 0)


def remove(txn: Txn, keys: Iterable[str]) -> None:
    """Remove rows."""
    for key in keys:
        txn.delete(key)


def write(txn: Txn, rows: Iterable[Row]) -> None:
    """Write rows as they are."""
    for key, value in rows:
        txn.put(key, value)


def restore(txn: Txn, copied: Iterable[Entry]) -> None:
    """Write entries of the ledger with their numbers."""
    for entry in copied:
        txn.restore(entry)


def probe(txn: Txn, name: str) -> None:
    """Write a row for a measurement, and remove what a killed measurement left."""
    remove(txn, [key for key, _ in txn.scan((PROBE, ""))])
    if name:
        txn.put(PROBE + name, "1")


def live_claims(rows: Iterable[Row], at: float) -> dict[str, Claim]:
    """Return the claims that held at the moment ``at``, by their keys."""
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
    """Yield the rows that another store must spell otherwise.

    Moments move by ``shift``. What was held at the moment ``at`` gets a ttl that the store can keep.
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
        moment = inner.get(name) if isinstance(inner, dict) else inner[name]
        if moment and moment < NEVER:
            inner[name] = moment + shift
    return record


# -- beginning anew


def begin_life(txn: Txn, why: str, *, fold_case: bool = True) -> None:
    """Void every claim of the earlier life, and say so; runs in the transaction that begins the new one.

    A store can lose its newest writes: a server that failed over, was emptied, or whose clock was moved.
    Nobody knows which grants were lost with them, so the tokens of all claims that are left are fenced, and
    their holders are told to claim again. What a script took without a token stays: its lock ends by age.
    """
    rows = Rows(txn, fold_case=fold_case)
    claims = [(key, claim) for key, claim in rows.claims() if claim.token]
    asks = list(rows.asks())
    void: set[tuple[str, str]] = set()
    for key, claim in claims:
        take_off(rows, key, claim, Lost(claim.pattern, claim.token, "void", rows.now, "", why))
        void.add((claim.agent, rows.pattern(claim.pattern).key))
    for key, ask in asks:
        if (ask.holder, rows.pattern(ask.pattern).key) in void:
            rows.drop_ask(key)
    rows.emit(
        STORE, "store", Kind.LEDGER_RESTARTED,
        f"the store started a new life: {why}; {len(claims)} claims are void",
        why=why, claims=len(claims),
    )  # fmt: skip
    rows.flush()
