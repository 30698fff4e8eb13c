"""Leaving a store for another one: nothing may be held or left over."""

from __future__ import annotations

from dibs.core.text.durations import show_span
from dibs.core.text.names import plural
from dibs.errors import NotAllowed
from dibs.services.claims.views import held_in, waiting_in
from dibs.services.state.sessions import all_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows

#: How many agents or files a refusal names.
_NAMED = 5


def refuse_in_use(rows: Rows) -> None:
    """Refuse to leave a store while agents hold or wait for something."""
    holding: dict[str, int] = {}
    for held in held_in(rows):
        holding[held.claim.agent] = holding.get(held.claim.agent, 0) + 1
    waiting = {waiter.ticket.agent for waiter in waiting_in(rows)}
    agents = sorted({*holding, *waiting})
    if agents:
        told = [_activity(rows, agent, holding.get(agent, 0)) for agent in agents]
        raise _in_use(f"agents are still working: {_named(told)}", "let them finish")


def refuse_left_work(rows: Rows) -> None:
    """Refuse to leave a store that knows whose uncommitted files those of ended agents are."""
    files = sorted({left.path for _, left in all_left(rows)})
    if files:
        raise _in_use(f"agents left uncommitted files: {_named(files)}", "commit or discard these")


def _in_use(message: str, hint: str) -> NotAllowed:
    return NotAllowed(message, code="STORE_ACTIVE", hint=f"nothing was changed; {hint}")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _activity(rows: Rows, agent: str, claims: int) -> str:
    does = f"holds {plural(claims, 'claim')}" if claims else "waits"
    seen = rows.active(agent)
    ago = f", active {show_span(round(max(0.0, rows.now - seen)))} ago" if seen else ""
    return f"{agent} ({does}{ago})"
