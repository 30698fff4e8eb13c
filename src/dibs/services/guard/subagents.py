"""Let a subagent write what its parent holds: transfer a claim on a file, or share a larger claim."""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.pattern import parse
from dibs.errors import DibsError
from dibs.services.claims.transfer import hand_over
from dibs.services.state.own_claims import own_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.rules import Conflict
    from dibs.services.guard.admission import Wishes
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store

#: The scheme of a subagent's claims inside a larger claim of its parent.
UNDER = "under"


def lend(
    rows: Rows, session: SessionRow, wishes: Wishes, against: Sequence[Conflict], store: Store
) -> tuple[Wishes, list[Conflict]]:
    """Give a subagent its parent's claims; return what it still needs, and the remaining conflicts.

    Inside a larger claim of its parent, it claims ``under:PATH``, which keeps its siblings out.
    """
    lent = {c.pattern for c in against if c.holder == session.parent}
    for conflict in against:
        if conflict.holder == session.parent:
            _hand_down(rows, session, conflict)
    plain = [one for one in wishes.plain if one.pattern.text not in lent]
    plain += [
        one._replace(pattern=parse(f"{UNDER}:{one.path}", literal=True, fold_case=store.fold_case))
        for one in wishes.plain
        if one.pattern.text in lent and not own_at(rows, session.id, one.pattern)
    ]
    deep = tuple(one for one in wishes.deep if one.pattern.text not in lent)
    shared = tuple(one for one in wishes.shared if one.pattern.text not in lent)
    rest = [c for c in against if c.holder != session.parent]
    return wishes._replace(plain=tuple(plain), deep=deep, shared=shared), rest


def _hand_down(rows: Rows, session: SessionRow, conflict: Conflict) -> None:
    """Transfer the parent's claim on exactly this path to the subagent."""
    pattern = rows.pattern(conflict.pattern)
    filed = [f for f in own_at(rows, session.parent, pattern) if f[1].pattern == conflict.held]
    if pattern.literal and filed and filed[0][1].mode == EXCLUSIVE:
        try:
            hand_over(rows, session.parent, "agent", filed, session.id)
        except DibsError:
            return  # the parent has a larger claim, under which the subagent writes
