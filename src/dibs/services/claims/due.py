"""Handle deadlines that have passed, and close decisions about conflicts that are over."""

from __future__ import annotations

from dibs.core.talk.decisions import Decision, Outcome
from dibs.errors import Unavailable, Unknown
from dibs.services.claims import asks, turns
from dibs.services.claims.escalation import still_open, why_over
from dibs.services.state import deadlines
from dibs.services.state.decisions import pending
from dibs.services.talk import decision_effects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: What handles each kind of deadline.
HANDLERS = {
    "turn": turns.look_again,
    "promise": asks.remind,
}


def settle(store: Store) -> None:
    """Handle passed deadlines and close moot decisions, unless the store is unreachable."""
    try:
        deadlines.settle(store, HANDLERS)
        if store.look(_needless) and store.engine.as_of is None:
            store.apply(_close_needless)
    except (Unavailable, Unknown):
        return


def _needless(rows: Rows) -> list[Decision]:
    """Return pending decisions about conflicts that are over."""
    conflicts = [decision for decision in pending(rows) if decision.conflict]
    return [decision for decision in conflicts if not still_open(rows, decision)]


def _close_needless(rows: Rows) -> None:
    for decision in _needless(rows):
        done = decision_effects.decided(
            rows, decision, Outcome.SETTLED, "", why_over(rows, decision)
        )
        decision_effects.close(rows, done, "")
