"""Repair of a store with damaged rows: they are moved to a file, and no claim disappears unnoticed.

A damaged claim is revoked: its key says whose it is and on what, so its owner is notified, and its
uncommitted changes are saved as for every claim that ends. A damaged heartbeat is replaced: its agent keeps
its claims.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER, Beat, check_human
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Claim, Lost
from dibs.core.patterns.pattern import parse
from dibs.errors import DibsError
from dibs.services.state.damage import DamagedRow, damaged_rows, name_of
from dibs.services.state.keys import AT, BEAT, IN
from dibs.services.state.lifecycle import STORE
from dibs.services.state.presence import arrive, lose
from dibs.services.state.rows import claim_of, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

_REASON = "its row in the store was damaged"


def refuse_agents(caller: Caller) -> None:
    """Refuse a caller that is not a human: a repair can release other agents' claims."""
    check_human(
        caller,
        "only a human may repair the store, because that can release other agents' claims",
        hint="`dibs engine check` shows what is damaged; ask a human to run: dibs engine repair",
    )


def move_aside(store: Store, caller: Caller, folder: str) -> list[str]:
    """Move the damaged rows of a store to a file in ``folder``; return what was done.

    They are in the file before they are deleted. The path of a damaged claim is unclaimed after that.
    """
    refuse_agents(caller)
    found = store.engine.view(lambda txn: list(damaged_rows(txn)))
    if not found:
        return []
    from time import time_ns

    from dibs.local.files import write_file
    from dibs.startup.quickjson import dumps

    path = f"{folder}/damaged-rows-{time_ns()}.jsonl"
    write_file(path, "".join(dumps(row._asdict()) + "\n" for row in found), sync=True)
    saved = set(found)

    def step(rows: Rows) -> list[str]:
        gone = [row for row in damaged_rows(rows.txn) if row in saved]
        for row in gone:  # all of them first: what follows reads rows
            rows.txn.delete(row.key)
            summary = f"moved the damaged row {row.key[:200]} to a file: {row.why}"
            rows.emit(STORE, "store", Kind.STORE_REPAIRED, summary, key=row.key)
        arrive(rows, caller)
        _renew_heartbeats(rows, gone)
        freed = [line for row in gone for line in _revoke(rows, caller, row)]
        return [*(f"moved the row {row.key[:200]!r} to {path}: {row.why}" for row in gone), *freed]

    return store.apply(step)


def claim_behind(row: DamagedRow) -> Claim | None:
    """Return the claim that a damaged row was, as far as its key and value tell; None if it was none."""
    place, _, rest = row.key.rpartition("//")
    agent, _, id_ = rest.partition("/")
    id_ = id_.rpartition("/")[2]
    token = id_[1:].partition(".")[0]
    if name_of(row.key) != "claim" or not agent or not (token.isascii() and token.isdigit()):
        return None
    try:
        record: Any = decode(row.value)
    except (DibsError, RecursionError):
        record = None
    stored = _texts(record)
    text = _pattern(place, stored.get("pattern", ""))
    if not text:
        return None
    tree, branch = stored.get("tree", ""), stored.get("branch", "")
    return Claim(id_, text, EXCLUSIVE, agent, int(token), 1.0, 0.0, tree=tree, branch=branch)


def _texts(record: Any) -> dict[str, str]:
    values = record if type(record) is dict else {}
    return {name: text for name, text in values.items() if type(text) is str}


def _pattern(place: str, stored: str) -> str:
    """Return the pattern of a claim as its row says, otherwise as its key does; empty if neither does."""
    if place.startswith(IN):
        folder, _, tail = place.removeprefix(IN).partition("//")
        filed, literal = f"{folder}/**/*{tail.removeprefix('*')}".removeprefix("/"), False
    else:
        filed, literal = place.removeprefix(AT), True
    for text, plain in ((stored, False), (filed, literal)):
        try:
            return parse(text, literal=plain).text
        except DibsError:
            continue
    return ""


def _revoke(rows: Rows, caller: Caller, row: DamagedRow) -> list[str]:
    """Notify the owner of a damaged claim, which is gone."""
    claim = claim_behind(row)
    if claim is None:
        return []
    lost = Lost(claim.pattern, claim.token, "revoked", rows.now, caller.id, _REASON)
    lose(rows, row.key, claim, lost)
    rows.emit(
        caller.id, caller.role, Kind.LOCK_REVOKED,
        f"{caller.id} revoked {claim.agent}'s claim on {claim.pattern}: {_REASON}",
        pattern=claim.pattern, holder=claim.agent, token=claim.token, reason=_REASON,
    )  # fmt: skip
    told = "" if rows.beat(claim.agent) is None else f"; {claim.agent} gets a message"
    return [f"freed {claim.pattern}, claimed by {claim.agent}{told}"]


def _renew_heartbeats(rows: Rows, gone: list[DamagedRow]) -> None:
    """Replace damaged heartbeats, as if their agents had called now: their claims are not damaged."""
    for agent in [row.key.removeprefix(BEAT) for row in gone if row.key.startswith(BEAT)]:
        claims = [claim_of(found) for found in rows.of_agent(agent) if not found.ticket]
        known = rows.agent(agent)
        if claims or known is not None:
            ttl = min((claim.ttl for claim in claims), default=NEVER)
            hard = min((claim.hard for claim in claims), default=NEVER)
            role = known.role if known is not None else "agent"
            rows.put_beat(agent, Beat(rows.now, ttl, hard, len(claims), 0, role))
