"""What a hook call says about its session: it is active, and a tool call began or ended.

A subagent's call is also activity of the session that started it.
"""

from __future__ import annotations

from dibs.core.claims.agents import Caller
from dibs.core.toolcalls.values import EventKind, How
from dibs.services.guard.sessions import row_of, runs_in
from dibs.services.state.presence import arrive, note_call
from dibs.services.state.sessions import get_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow

#: A read writes a heartbeat only if this share of the ttl has passed since the last one.
FRESH = 1 / 3
#: The most characters of a call's id that are stored; ids differ at their end.
_ID = 12
#: A turn begins or ends, so no earlier tool call is still open.
_TURNS = frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.STOPPED})


def note_activity(rows: Rows, heard: HookEvent, session: SessionRow) -> None:
    """Record a call of a session that has sent its heartbeat: for its parent, and whether a tool runs."""
    agents = [session.id]
    if session.parent and rows.beat(session.parent) is not None:
        arrive(rows, Caller(session.parent, "agent"))
        agents.append(session.parent)
    if heard.moment in _TURNS:
        note_call(rows, session.id, "", is_open=False)
    elif heard.moment in {EventKind.BEFORE, EventKind.AFTER} and not is_read(heard):
        call = "".join((heard.call or heard.tool or "call").split())[-_ID:]
        for agent in agents:
            note_call(rows, agent, call, is_open=heard.moment == EventKind.BEFORE)


def is_read(heard: HookEvent) -> bool:
    """Return whether a tool call only reads: it runs no command, no MCP tool, and writes no file."""
    runs = heard.command or heard.tool.startswith("mcp")
    return not runs and all(touch.how == How.READ for touch in heard.touches)


def active_reader(rows: Rows, heard: HookEvent, who: HookCaller, ttl: float) -> str:
    """Return the agent of a read that needs no heartbeat and has no news; empty if there is more to do."""
    session = get_session(rows, row_of(rows, heard, who))
    if session is None or session.over or session.forgot or not runs_in(session, who):
        return ""
    for agent in (session.id, session.parent) if session.parent else (session.id,):
        beat = rows.beat(agent)
        if beat is None or rows.now - beat.seen >= FRESH * min(ttl, beat.ttl):
            return ""
    return "" if rows.has_unread(session.id) else session.id
