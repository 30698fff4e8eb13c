"""Rows that keep the store and git consistent: pending and landed commits, and the gate's fence."""

from __future__ import annotations

import json

from dibs.core.claims.ledger import Kind
from dibs.core.text.names import shown
from dibs.services.state.idempotency import remember
from dibs.services.state.keys import COMMIT, GATE, INTENT
from dibs.services.state.presence import role_of
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.services.state.rows import Rows

#: How many names a ledger entry lists.
SHOWN = 100
#: Up to this many commits are looked up one by one.
_FEW = 64


class Intent(Record):
    """A ref that is about to move, with all that is needed to finish or drop it without its process."""

    id: str
    kind: str
    agent: str
    role: str
    ref: str
    old: str
    new: str
    #: The working tree whose index is updated; empty for none.
    tree: str
    paths: tuple[str, ...]
    summary: str
    claims: tuple[str, ...]
    tokens: tuple[int, ...]
    patterns: tuple[str, ...]
    details: dict[str, Any]
    at: float = 0.0
    #: Whether the ref is known to have moved, and only a locked index keeps it from being finished.
    landed: bool = False


def put_intent(rows: Rows, clone: str, intent: Intent) -> None:
    """Write ``intent``; escape non-UTF-8 paths."""
    rows.txn.put(_key(clone, intent.id), json.dumps(intent._asdict(), separators=(",", ":")))


def get_intent(rows: Rows, clone: str, name: str) -> Intent | None:
    """Return an intent; None if another process finished or dropped it."""
    value = rows.txn.get(_key(clone, name))
    return None if value is None else _intent(value)


def drop_intent(rows: Rows, clone: str, name: str) -> None:
    """Delete an intent."""
    rows.txn.delete(_key(clone, name))


def intents(rows: Rows, clone: str) -> list[Intent]:
    """Return all intents of a clone."""
    return [_intent(value) for _, value in rows.txn.scan((f"{INTENT}{clone}/", ""))]


def _key(clone: str, name: str) -> str:
    return f"{INTENT}{clone}/{name}"


def _intent(value: str) -> Intent:
    record = decode(value)
    for name in ("paths", "claims", "tokens", "patterns"):
        record[name] = tuple(record[name])
    return Intent(**record)


def fence_row(rows: Rows, clone: str) -> str:
    """Return the value of ``refs/dibs/gate`` as the store knows it; empty if the ref does not exist."""
    value = rows.txn.get(f"{GATE}{clone}")
    return "" if value is None else str(decode(value))


def put_fence_row(rows: Rows, clone: str, oid: str) -> None:
    """Store the value of ``refs/dibs/gate``."""
    if oid:
        rows.txn.put(f"{GATE}{clone}", encode(oid))
    else:
        rows.txn.delete(f"{GATE}{clone}")


def is_told(rows: Rows, intent: Intent) -> bool:
    """Return whether the store already recorded this intent as landed."""
    return get_commit(rows, intent.new) is not None


_KINDS = {"commit": Kind.COMMITTED, "merge": Kind.MERGED}


def finish(rows: Rows, clone: str, intent: Intent, *, late: bool = False) -> int:
    """Record that an intent landed; return the number of the ledger entry."""
    drop_intent(rows, clone, intent.id)
    record = {
        "agent": intent.agent, "kind": intent.kind, "at": rows.now, "ref": intent.ref, "clone": clone,
        "claims": intent.claims, "tokens": intent.tokens, "patterns": intent.patterns,
    }  # fmt: skip
    rows.txn.put(f"{COMMIT}{intent.new}", encode(record))
    request, fingerprint = intent.details.get("request", ("", ""))
    if request:
        answer = [intent.new, intent.ref, *map(shown, intent.paths)]
        remember(rows, intent.agent, request, fingerprint, answer)
    told = {name: value for name, value in intent.details.items() if name != "request"}
    if late:
        told["late"] = True
    return rows.emit(
        intent.agent, intent.role or role_of(rows, intent.agent), _KINDS[intent.kind], intent.summary,
        commit=intent.new, parent=intent.old, ref=intent.ref, paths=[*map(shown, intent.paths[:SHOWN])],
        files=len(intent.paths), patterns=intent.patterns[:SHOWN], tokens=intent.tokens[:SHOWN], **told,
    )  # fmt: skip


# -- the claims behind commits


def get_commit(rows: Rows, oid: str) -> dict[str, Any] | None:
    """Return the claims behind a commit: agent, claims, tokens, patterns."""
    value = rows.txn.get(f"{COMMIT}{oid}")
    record: dict[str, Any] | None = None if value is None else decode(value)
    return record


def commits(rows: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all recorded commits, each with its record."""
    for key, value in rows.txn.scan((COMMIT, "")):
        yield key.removeprefix(COMMIT), decode(value)


def forget_commits(rows: Rows, oids: Iterable[str]) -> None:
    """Delete the records of commits."""
    for oid in oids:
        rows.txn.delete(f"{COMMIT}{oid}")


def move_commit(rows: Rows, old: str, new: str) -> None:
    """Let the record of a commit follow the commit that replaced it."""
    value = rows.txn.get(f"{COMMIT}{old}")
    if value is not None:
        rows.txn.put(f"{COMMIT}{new}", value)
        rows.txn.delete(f"{COMMIT}{old}")


def landed(rows: Rows, oids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the agent and the branch of each of these commits that the gate landed."""
    wanted, found = set(oids), dict[str, tuple[str, str]]()
    every = (
        commits(rows) if len(wanted) > _FEW else ((oid, get_commit(rows, oid)) for oid in wanted)
    )
    for oid, record in every:
        if record is not None and oid in wanted:
            found[oid] = (record["agent"], record.get("ref", ""))
    for _, value in rows.txn.scan((INTENT, "")):
        record = decode(value)
        if record["new"] in wanted:
            found.setdefault(record["new"], (record["agent"], record["ref"]))
    return found


def commit_authors(rows: Rows, oids: Sequence[str]) -> dict[str, str]:
    """Return the agents behind commits that ``dibs commit`` made or is about to put on a branch."""
    records = {oid: get_commit(rows, oid) for oid in oids}
    found = {oid: record["agent"] for oid, record in records.items() if record is not None}
    if len(found) < len(oids):
        for _, value in rows.txn.scan((INTENT, "")):
            record = decode(value)
            if record.get("new") in records:
                found.setdefault(record["new"], record["agent"])
    return found
