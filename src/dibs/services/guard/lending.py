"""What a parent lends a subagent of its session: its claim on a file, or room under a larger claim."""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.pattern import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Conflict
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow

#: The scheme of what a subagent holds inside of a larger claim of its parent.
UNDER = "under"


def under_parent(path: str, *, fold_case: bool) -> Pattern:
    """Return what a subagent claims of a file that is inside of a larger claim of its parent."""
    return parse(f"{UNDER}:{path}", literal=True, fold_case=fold_case)


def hand_down(rows: Rows, seat: SessionRow, conflict: Conflict) -> None:
    """Give a subagent the claim of its parent on just this path: the parent sent it there."""
    from dibs.errors import DibsError
    from dibs.services.claims.transfer import hand_over
    from dibs.services.state.own_claims import own_at

    pattern = rows.pattern(conflict.pattern)
    filed = [f for f in own_at(rows, seat.parent, pattern) if f[1].pattern == conflict.held]
    if pattern.literal and filed and filed[0][1].mode == EXCLUSIVE:
        try:
            hand_over(rows, seat.parent, "agent", filed, seat.id)
        except DibsError:
            return  # the parent keeps a larger claim around it, under which the subagent writes
