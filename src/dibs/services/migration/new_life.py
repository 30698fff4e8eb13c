"""A new life of a store: what is left of the one before, and who is told.

A store can lose its newest writes: a server that failed over, was emptied, or whose clock was moved. Then
nobody knows which grants were lost with them. So none of the claims that are left holds any longer: their
tokens are fenced, and their holders are told to claim again. Everything else stays, also what a script took
without a token: nobody could tell the script, and its lock ends by age.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Lost
from dibs.services.state.presence import take_off
from dibs.services.state.rows import Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.base import Txn

#: Who speaks in the ledger where no agent acts.
STORE = "dibs"


def begin_life(txn: Txn, why: str, *, fold_case: bool = True) -> None:
    """Void every claim of the earlier life, and say so; runs in the transaction that begins the new one."""
    rows = Rows(txn, fold_case=fold_case)
    claims = [(key, claim) for key, claim in rows.claims() if claim.token]
    asks = list(rows.asks())
    void: set[tuple[str, str]] = set()
    for key, claim in claims:
        take_off(rows, key, claim, Lost(claim.pattern, claim.token, "void", rows.now, "", why))
        void.add((claim.agent, rows.pattern(claim.pattern).key))
    for key, ask in asks:
        if (ask.holder, rows.pattern(ask.pattern).key) in void:
            txn.delete(key)
    rows.emit(
        STORE,
        "store",
        Kind.LEDGER_RESTARTED,
        f"the store began a new life: {why}; {len(claims)} claims are void",
        why=why,
        claims=len(claims),
    )
    rows.flush()
