"""Who is guarded: ``guarded/<agent>`` says since when its tool calls come by our hooks, in which dialect."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.services.state.presence import role_of
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows

GUARDED = "guarded/"


def tell_guarded(rows: Rows, agent: str, dialect: str) -> None:
    """Note that an agent is guarded, and tell the ledger."""
    rows.txn.put(f"{GUARDED}{agent}", encode({"at": rows.now, "dialect": dialect}))
    summary = f"{agent} is guarded at its tool calls ({dialect})"
    rows.emit(agent, role_of(rows, agent), Kind.AGENT_GUARDED, summary, dialect=dialect)


def guarded_since(rows: Rows, agent: str) -> tuple[float, str]:
    """Return since when an agent's tool calls come by us, and its dialect; 0 for never."""
    value = rows.txn.get(f"{GUARDED}{agent}")
    if value is None:
        return 0.0, ""
    record = decode(value)
    return float(record["at"]), str(record["dialect"])
