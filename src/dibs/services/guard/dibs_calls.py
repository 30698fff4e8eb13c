"""Refuse a shell call that runs Dibs as someone else; short because the rule is in core/shell."""

from __future__ import annotations

from dibs.core.claims.agents import family
from dibs.core.shell.dibs_calls import refused_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store


def judge_calls(store: Store, session: SessionRow, command: str) -> str:
    """Return why an agent may not run a command with Dibs in it; empty if it may.

    A subagent's commands run in its parent's process, so they act as the parent.
    """
    own = session.parent or session.id

    def look(rows: Rows) -> tuple[str, ...]:
        return tuple(family(own, {agent.id: agent.parent for agent in rows.agents()}))

    what, why = refused_call(command, own)
    if what:
        what, why = refused_call(command, own, store.look(look))
    if not what:
        return ""
    instead = (
        "ask a human to run it"
        if "human" in why
        else "act under your own name; to reach another agent, use `dibs ask` or `dibs say`"
    )
    return f"blocked `{what}`: {why}; {instead}"
