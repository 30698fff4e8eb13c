"""What a move carries over: who is at work, what is held, and moments set to another clock."""

from __future__ import annotations

from hashlib import sha256

from dibs.core.claims.agents import NEVER
from dibs.core.claims.rules import live
from dibs.core.text.durations import show_span
from dibs.errors import NotAllowed
from dibs.services.claims.service import held_in, waiting_in
from dibs.services.state import deadlines
from dibs.services.state.decisions import DECISION, OPEN
from dibs.services.state.deliveries import OFFER
from dibs.services.state.mailbox import MAIL
from dibs.services.state.rows import FILED, FiledRow, Rows, claim_of, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import Claim
    from dibs.engines.base import Txn

    Row = tuple[str, str]

#: How many agents a refusal names.
NAMED = 5
#: Which fields of a row are moments, by what its key begins with; a beat and a rate are arrays. Where a field
#: is 0, there is no such moment.
_MOMENTS: tuple[tuple[tuple[str, ...], tuple[str | int, ...]], ...] = (
    (FILED, ("since", "hard")),
    (("beat/",), (0, 2)),
    (("wait/",), ("since", "seen", "until")),
    (("ask/",), ("at", "until", "answered", "promised")),
    (("rate/",), (1,)),
    ((MAIL,), ("at", "due", "data.until")),
    ((DECISION,), ("at", "deadline", "decided_at")),
    ((OPEN,), ("at",)),
    ((OFFER,), ("until",)),
)


def refuse_while_at_work(txn: Txn, *, fold_case: bool) -> None:
    """Refuse to move a state under the hands of those who hold or wait for something."""
    rows = Rows(txn, fold_case=fold_case)
    holding: dict[str, int] = {}
    for held in held_in(rows):
        holding[held.claim.agent] = holding.get(held.claim.agent, 0) + 1
    waiting = {waiter.ticket.agent for waiter in waiting_in(rows)}
    agents = sorted({*holding, *waiting})
    if not agents:
        return
    told = [_at_work(rows, agent, holding.get(agent, 0)) for agent in agents[:NAMED]]
    more = f" and {len(agents) - NAMED} more" if len(agents) > NAMED else ""
    raise NotAllowed(
        f"agents are at work here: {', '.join(told)}{more}",
        code="STORE_ACTIVE",
        hint="let them finish, or take their claims along with --force; nothing was changed",
    )


def _at_work(rows: Rows, agent: str, claims: int) -> str:
    does = f"holds {claims}" if claims else "waits"
    seen = rows.seen(agent)
    ago = f", seen {show_span(round(max(0.0, rows.now - seen)))} ago" if seen else ""
    return f"{agent} ({does}{ago})"


def live_claims(rows: Iterable[Row], at: float) -> dict[str, Claim]:
    """Return the claims that held at the moment ``at``, by their keys."""
    found = dict(rows)
    held = {}
    for key, value in found.items():
        record = decode(value) if key.startswith(FILED) else {}
        if "token" in record:
            claim = claim_of(FiledRow(key, record["agent"], record))
            beat = found.get(f"beat/{claim.agent}")
            if live(claim, decode(beat)[0] if beat is not None else 0.0, at):
                held[key] = claim
    return held


def carried(rows: list[Row], at: float, shift: float, shortest: float) -> Iterator[Row]:
    """Yield the rows that another store must spell otherwise.

    Moments move by ``shift``. What was held at the moment ``at`` gets a ttl that the store can keep.
    """
    held = live_claims(rows, at)
    for key, value in rows:
        if key.startswith(deadlines.DUE):
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


def digest(rows: Iterable[Row], entries: Iterable[Entry]) -> str:
    """Return a short text that differs where any row or entry does."""
    found = sha256()
    for row in rows:
        found.update(encode(row).encode("utf-8", "surrogatepass"))
    for entry in entries:
        found.update(encode(entry).encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]
