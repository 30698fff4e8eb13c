"""Compare the ledger with the rows: every change has an entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from proof_oracle import name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.ledger import Entry


def check_ledger(
    entries: list[Entry], before: dict[str, str], after: dict[str, str], newest: int
) -> int:
    """Check what one step wrote; return the newest number."""
    numbers = [entry.seq for entry in entries]
    assert numbers == list(range(newest + 1, newest + 1 + len(entries))), "no gap, no repeat"
    old, new = _filed(before), _filed(after)
    for key in new.keys() - old.keys():
        _came(key, new[key], entries)
    for key in old.keys() - new.keys():
        _went(old[key], entries)
    gone_tokens = {record["token"] for key, record in old.items() if key not in new and _is(record)}
    for entry in entries:
        if entry.kind == "lock_expired":
            assert entry.details["token"] in gone_tokens, "an expired claim is removed"
    return newest + len(entries)


def _filed(rows: dict[str, str]) -> dict[str, dict[str, Any]]:
    wanted = ("at/", "in/", "wait/")
    return {key: json.loads(value) for key, value in rows.items() if key.startswith(wanted)}


def _is(record: dict[str, Any]) -> bool:
    return "token" in record


def _came(key: str, record: dict[str, Any], entries: Iterable[Entry]) -> None:
    if _is(record):
        kinds, number = {"lock_acquired", "lock_transferred"}, record["token"]
    else:
        kinds = {"lock_queued"}
        number = record["number"] if key.startswith("wait/") else record["ticket"]
    assert any(e.seq == number and e.kind in kinds for e in entries), (
        f"{key} was added without an entry"
    )


def _went(record: dict[str, Any], entries: Iterable[Entry]) -> None:
    told = any(
        _tells_claim(e, record) if _is(record) else _tells_ticket(e, record) for e in entries
    )
    assert told, f"{record} was removed without an entry"


def _tells_claim(entry: Entry, claim: dict[str, Any]) -> bool:
    details, agent, token = entry.details, claim["agent"], claim["token"]
    listed = name(claim["pattern"]) in {name(text) for text in details.get("patterns", ())}
    own = entry.agent == agent
    tells = {
        "lock_released": own and listed and token in details.get("tokens", ()),
        "lock_expired": own and details.get("token") == token,
        "lock_revoked": details.get("holder") == agent and details.get("token") == token,
        "lock_transferred": listed and agent in (entry.agent, details.get("to")),
        "agent_terminated": details.get("toAgentId") == agent,
        "lock_acquired": own and listed,  # an upgrade
    }
    return tells.get(entry.kind, False)


def _tells_ticket(entry: Entry, row: dict[str, Any]) -> bool:
    number = row.get("number", row.get("ticket"))
    if entry.kind == "lock_acquired":
        return "agent" not in row or entry.agent == row["agent"]
    return entry.kind == "lock_unqueued" and entry.details["ticket"] == number
