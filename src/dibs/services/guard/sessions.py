"""The agent that a hook speaks for: sessions, the subagents in them, and the processes that they run in.

Two sessions of one name are two agents; so are two processes that have the same session at once.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, Agent, AgentStatus
from dibs.core.text.names import distinct
from dibs.core.toolcalls.policy import role_of, session_name, subagent_name
from dibs.errors import NotAllowed
from dibs.local.processes import RunningProcess, agent_above, forget, is_there, note, realm
from dibs.services.state.presence import admit
from dibs.services.state.sessions import (
    PART_MAX,
    SessionRow,
    get_seat,
    is_gone,
    put_seat,
    seat_of,
    session_key,
    tell_guarded,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.state.rows import Rows

#: What the human named an agent, and the number that Claude Code gives its own process.
NAME, CLAUDE_PID = "DIBS_AGENT", "CLAUDE_PID"
#: Dialects whose hooks are started by an editor: a human's terminal has the same process above it.
EDITORS = frozenset({"cursor", "windsurf", "vscode"})


class HookCaller(Record):
    """What is known of whoever runs a hook, beside what it says."""

    #: The agent's own process; None where it is not known.
    agent: RunningProcess | None = None
    named: str = ""
    root: str = ""
    realm: str = ""


def hook_caller(
    process: int | RunningProcess, environ: Mapping[str, str], dialect: str, root: str
) -> HookCaller:
    """Return who runs a hook: ``process`` is the agent's own, or the number of its hook's."""
    if isinstance(process, RunningProcess):
        agent: RunningProcess | None = process
    else:
        told = environ.get(CLAUDE_PID, "") if dialect == "claude" else ""
        agent = agent_above(process, told) if process else None
    return HookCaller(agent, environ.get(NAME, ""), root, realm())


def row_of(rows: Rows, heard: HookEvent, who: HookCaller) -> str:
    """Return the row of whoever speaks. A session that two processes have at once is two agents.

    That happens where a session is resumed while it still runs. Of an editor each window has a process of its
    own, and its sessions are not told apart by that.
    """
    key = session_key(heard.agent, heard.session, heard.subagent)
    if who.agent is None or heard.agent in EDITORS:
        return key
    main = session_key(heard.agent, heard.session)
    seat = get_seat(rows, main)
    if seat is not None and (seat.pid, seat.born) == (who.agent.pid, who.agent.born):
        return key
    apart = f"{main}@{who.agent.pid}-{who.agent.born}"
    taken = seat is not None and seat.pid and _sits(seat, who)
    return apart + key[len(main) :] if taken or get_seat(rows, apart) is not None else key


def seated(rows: Rows, heard: HookEvent, who: HookCaller) -> tuple[str, SessionRow, bool]:
    """Return the row and seat of whoever speaks, and whether it sits down only now.

    A session that goes on in another process keeps its id.
    """
    key = row_of(rows, heard, who)
    seat = get_seat(rows, key)
    if seat is not None and _sits(seat, who):
        if seat.over or (who.root and seat.root != who.root):
            seat = seat._replace(over=False, root=who.root or seat.root)
            put_seat(rows, key, seat)
        if rows.beat(seat.id) is None:  # it had ended, and comes back
            _join(rows, seat, heard)
        return key, seat, False
    pid, born = (who.agent.pid, who.agent.born) if who.agent is not None else (0, 0)
    if seat is not None and seat.pid and who.agent is None:
        return key, seat, False  # a hook that outlives its agent must not bring the agent back
    if seat is not None:
        seat = seat._replace(pid=pid, born=born, realm=who.realm, root=who.root, over=False)
        put_seat(rows, key, seat)
        _join(rows, seat, heard)
        return key, seat, False
    parent = ""
    if heard.subagent:
        parent = seated(rows, heard._replace(subagent="", subagent_type=""), who)[1].id
        wished = subagent_name(heard.agent, parent, heard.subagent)
    else:
        wished = session_name(heard.agent, heard.session, who.named, pid)
    seat = SessionRow("", heard.agent, pid, born, who.realm, who.root, parent)
    seat = seat._replace(id=distinct(wished, _Taken(rows, key, seat)))
    put_seat(rows, key, seat)
    _join(rows, seat, heard)
    tell_guarded(rows, seat.id, seat.dialect)
    return key, seat, True


def _sits(seat: SessionRow, who: HookCaller) -> bool:
    """Tell whether a seat needs no other process: the one that it has still runs."""
    return seat.realm == who.realm and (not seat.pid or is_there(seat.pid, seat.born))


class _Taken:
    """The names that are another's: of a session that goes on, or of a human."""

    def __init__(self, rows: Rows, key: str, own: SessionRow) -> None:
        self._rows, self._key, self._own = rows, key, own

    def __contains__(self, name: object) -> bool:
        beat = self._rows.beat(str(name))
        if beat is not None and beat.role == HUMAN:
            return True
        found = seat_of(self._rows, str(name))
        if found is None or found[0] == self._key:
            return False
        return not is_gone(found[1], self._own.realm) and not is_heir(self._own, found[1])


def is_heir(seat: SessionRow, before: SessionRow) -> bool:
    """Tell whether a session follows on one that is over, in the same process: its context was cleared."""
    same = (before.pid, before.born, before.realm) == (seat.pid, seat.born, seat.realm)
    return bool(seat.pid) and same and before.over and not (seat.parent or before.parent)


def _join(rows: Rows, seat: SessionRow, heard: HookEvent) -> None:
    """Write the agent of a seat as one that works, unless somebody stopped it."""
    known = rows.agent(seat.id)
    if known is not None and known.status == AgentStatus.TERMINATED and rows.beat(seat.id) is None:
        raise NotAllowed(
            f"{seat.id} was stopped: {known.ended or 'no reason given'}",
            code="AGENT_STOPPED",
            hint="stop your work; a human can let you back in with `dibs agent join`",
        )
    host = seat.realm.partition("/")[0]
    base = known or Agent(
        seat.id, seat.id, role_of(heard.subagent_type) if seat.parent else "agent"
    )
    agent = base._replace(
        parent=seat.parent or base.parent, host=host, pid=seat.pid,
        model=heard.model[:PART_MAX] or base.model, status=AgentStatus.RUNNING, ended="",
    )  # fmt: skip
    if rows.beat(seat.id) is None:
        admit(rows, agent._replace(started=rows.now))
    elif agent != known:
        rows.put_agent(agent)


def note_process(state: str, seat: SessionRow) -> None:
    """Leave word of an agent's process, so that commands that it runs itself are taken for its own."""
    if seat.pid and seat.dialect not in EDITORS:
        note(state, seat.pid, seat.born, seat.parent or seat.id)


def forget_process(state: str, seat: SessionRow) -> None:
    """Take that word away."""
    if seat.pid and not seat.parent:
        forget(state, seat.pid, seat.id)
