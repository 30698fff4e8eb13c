"""New lives of a store that may have lost its newest writes, and numbers that continue another store's."""

from __future__ import annotations

from dibs.core.claims.ledger import Entry, Kind
from dibs.core.claims.rules import Lost
from dibs.services.state.presence import close_asks, take_off
from dibs.services.state.rows import Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.base import Engine, Txn

#: The agent of ledger entries that the store itself writes.
STORE = "dibs"


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


def newest(txn: Txn) -> int:
    """Return the number of the newest ledger entry, or 0."""
    return next((entry.seq for entry in txn.events(newest_first=True)), 0)


def continue_numbers(engine: Engine, last: int) -> None:
    """Make the next number of a store's ledger, and so the next token, greater than ``last``."""
    summary = "the clone uses this store now; its numbers continue those of the previous one"

    def step(txn: Txn) -> None:
        if newest(txn) < last:
            kind = str(Kind.LEDGER_RESTARTED)
            txn.restore(Entry(last, txn.now, STORE, "store", kind, summary, {}))

    engine.transact(step)
