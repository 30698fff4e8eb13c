"""Find the agent behind a hook call (its session, subagent, and process), and record its activity.

Two sessions with the same name are two agents; so are two processes that run the same session at once.
A subagent's call is also activity of the session that started it.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, Agent, AgentStatus, Caller, stopped
from dibs.core.text.names import distinct, is_namesake
from dibs.core.toolcalls.policy import role_of, session_name, subagent_name
from dibs.core.toolcalls.values import EventKind
from dibs.errors import NotAllowed
from dibs.local.noted_agents import forget, note
from dibs.local.processes import RunningProcess, above, agent_above, is_there, own_pid, realm
from dibs.services.guard.call_paths import is_read
from dibs.services.state.presence import admit, arrive, note_call, note_rest
from dibs.services.state.sessions import (
    EDITORS,
    PART_MAX,
    SessionRow,
    get_session,
    is_gone,
    put_session,
    record_guarded,
    session_key,
    session_of,
    sessions,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.state.rows import Rows

#: Variables with an agent's name and with Claude Code's own process ID.
NAME, CLAUDE_PID = "DIBS_AGENT", "CLAUDE_PID"

#: A read writes a heartbeat only if this share of the ttl has passed since the last one.
FRESH = 1 / 3
#: The most characters of a call's id that are stored; ids differ at their end.
_ID = 12
#: A turn begins or ends, so no earlier tool call is still open.
_TURNS = frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.STOPPED})


class HookCaller(Record):
    """What is known about the caller of a hook besides the event."""

    #: The agent's own process, if known.
    agent: RunningProcess | None = None
    named: str = ""
    root: str = ""
    realm: str = ""
    #: The hook's own process; 0 if unknown.
    hook: int = 0
    #: The project's state folder, which has the processes of all agents.
    state: str = ""


def hook_caller(
    process: int | RunningProcess,
    environ: Mapping[str, str],
    dialect: str,
    root: str,
    state: str = "",
) -> HookCaller:
    """Return the caller of a hook; ``process`` is the agent's own process or the hook's process ID."""
    told = environ.get(CLAUDE_PID, "") if dialect == "claude" else ""
    hook = 0 if isinstance(process, RunningProcess) else process
    agent = agent_above(hook, told) if hook else None
    if isinstance(process, RunningProcess):
        agent = process
    if agent is not None and told == str(agent.pid):
        agent = _believed(agent, hook or own_pid(), state)
    return HookCaller(agent, environ.get(NAME, ""), root, realm(), hook, state)


def _believed(told: RunningProcess, hook: int, state: str) -> RunningProcess:
    """Return the process that a hook says is its agent's, or the nearest one if that is another agent's.

    An agent can run ``dibs hook`` itself, and name a process above its own.
    """
    nearest = agent_above(hook)
    if nearest is None or nearest.pid == told.pid or told not in above(hook):
        return told
    return told if _agent_at(state, hook) == _agent_at(state, told.pid) else nearest


def row_of(rows: Rows, heard: HookEvent, who: HookCaller) -> str:
    """Return the key of the calling session. A session that runs in two processes at once is two agents.

    That happens if a session is resumed while it still runs. An editor has one process per window, which does
    not distinguish its sessions. An event that another agent's process, or a detached one, sends for a
    running session is refused (``NOT_YOU``).
    """
    key = session_key(heard.agent, heard.session, heard.subagent)
    main = session_key(heard.agent, heard.session)
    session = get_session(rows, main)
    if heard.agent in EDITORS or (who.agent is None and not who.hook):
        sender = _agent_at(who.state, who.hook)
        if session is not None and sender != _agent_at(who.state, session.pid):
            _check_sender(session, sender)
        return key
    if who.agent is None:
        if session is not None and session.pid and _runs(session, who):
            raise _not_you(session, "")
        return key
    if session is not None and (session.pid, session.born) == (who.agent.pid, who.agent.born):
        return key
    apart = f"{main}@{who.agent.pid}-{who.agent.born}"
    if get_session(rows, apart) is not None:
        return apart + key[len(main) :]
    if session is None or not session.pid or not _runs(session, who):
        return key
    _check_sender(session, _agent_at(who.state, who.agent.pid))
    return apart + key[len(main) :]


def _check_sender(session: SessionRow, sender: str) -> None:
    """Refuse an event that a process of one agent sends for the session of another."""
    if sender and not is_namesake(sender, session.id):
        raise _not_you(session, sender)


def _not_you(session: SessionRow, sender: str) -> NotAllowed:
    """Return the refusal of an event that names another process's session."""
    by = f"a process of {sender}" if sender else "a process outside of it"
    return NotAllowed(
        f"the event names the session of {session.id} (process {session.pid}), but comes from {by}",
        code="NOT_YOU",
        hint="an agent's own hooks send its events; do not run `dibs hook` yourself",
    )


def join_session(rows: Rows, heard: HookEvent, who: HookCaller) -> tuple[str, SessionRow, bool]:
    """Return the key and the row of the calling session, and whether this is its first call.

    A session that continues in another process keeps its id.
    """
    key = row_of(rows, heard, who)
    known = get_session(rows, key)
    if known is None:
        return key, _new_session(rows, key, heard, who), True
    pid, born = _process(who)
    runs = _runs(known, who)
    if runs:
        session = _moved(known, who.root)._replace(over=False)
    elif known.pid and who.agent is None:
        return key, known, False  # a hook that outlives its agent must not revive the agent
    else:
        session = _moved(known, who.root)._replace(pid=pid, born=born, realm=who.realm, over=False)
    if session != known:
        put_session(rows, key, session)
    if not runs or rows.beat(session.id) is None:  # it had ended and came back
        _join(rows, session, heard)
    return key, session, False


def _new_session(rows: Rows, key: str, heard: HookEvent, who: HookCaller) -> SessionRow:
    pid, born = _process(who)
    parent = ""
    if heard.subagent:
        parent = join_session(rows, heard._replace(subagent="", subagent_type=""), who)[1].id
        wished = subagent_name(heard.agent, parent, heard.subagent)
    else:
        wished = session_name(heard.agent, heard.session, who.named, pid)
        _refuse_stopped(rows, who)
    session = SessionRow("", heard.agent, pid, born, who.realm, who.root, parent)
    session = session._replace(id=distinct(wished, _Taken(rows, key, session)))
    put_session(rows, key, session)
    _join(rows, session, heard, _above(who) if heard.agent not in EDITORS else "")
    record_guarded(rows, session.id, session.dialect)
    return session


def _above(who: HookCaller) -> str:
    """Return the guarded agent whose process started the session's own process; empty if none."""
    return _agent_at(who.state, who.agent.above) if who.agent is not None else ""


def _agent_at(state: str, pid: int) -> str:
    """Return the guarded agent that a process belongs to; empty if none."""
    from dibs.local.identity import agent_of_process

    return agent_of_process(state, pid) if state and pid else ""


def _refuse_stopped(rows: Rows, who: HookCaller) -> None:
    """Refuse a new session in the process of a stopped agent, or below it."""
    own = (*_process(who), who.realm)
    names = [
        one.id for _, one in sessions(rows) if own[0] and (one.pid, one.born, one.realm) == own
    ]
    for name in (*names, _above(who)):
        known = rows.agent(name) if name else None
        if known is not None and known.status == AgentStatus.TERMINATED and rows.beat(name) is None:
            raise stopped(known)


def _moved(session: SessionRow, root: str) -> SessionRow:
    """Return a session in another working tree; it may have changed files in the one before."""
    if not root or root == session.root:
        return session
    left = [tree for tree in (*session.also, session.root) if tree and tree != root]
    return session._replace(root=root, also=tuple(dict.fromkeys(left)))


def _process(who: HookCaller) -> tuple[int, int]:
    return (who.agent.pid, who.agent.born) if who.agent is not None else (0, 0)


def _runs(session: SessionRow, who: HookCaller) -> bool:
    """Return whether a session's own process still runs."""
    return session.realm == who.realm and (not session.pid or is_there(session.pid, session.born))


def runs_in(session: SessionRow, who: HookCaller) -> bool:
    """Return whether a session is known to run in the caller's process and working tree."""
    same = (session.pid, session.born, session.realm) == (*_process(who), who.realm)
    return same and session.root == who.root


class _Taken:
    """The names of other running sessions and of humans."""

    def __init__(self, rows: Rows, key: str, own: SessionRow) -> None:
        self._rows, self._key, self._own = rows, key, own

    def __contains__(self, name: object) -> bool:
        beat = self._rows.beat(str(name))
        if beat is not None and beat.role == HUMAN:
            return True
        found = session_of(self._rows, str(name))
        if found is None or found[0] == self._key:
            return False
        return not is_gone(found[1], self._own.realm) and not is_heir(self._own, found[1])


def is_heir(session: SessionRow, before: SessionRow) -> bool:
    """Return whether a session continues one that ended in the same process (its context was cleared)."""
    same = (before.pid, before.born, before.realm) == (session.pid, session.born, session.realm)
    return bool(session.pid) and same and before.over and not (session.parent or before.parent)


def _join(rows: Rows, session: SessionRow, heard: HookEvent, above: str = "") -> None:
    """Mark a session's agent as running, unless it was stopped; ``above`` started its process."""
    known, beat = rows.agent(session.id), rows.beat(session.id)
    if known is not None and known.status == AgentStatus.TERMINATED and beat is None:
        raise stopped(known)
    host = session.realm.partition("/")[0]
    role = role_of(heard.subagent_type) if session.parent else "agent"
    base = known or Agent(session.id, session.id, role)
    agent = base._replace(
        parent=session.parent or base.parent or above, host=host, pid=session.pid,
        model=heard.model[:PART_MAX] or base.model, status=AgentStatus.RUNNING, ended="",
    )  # fmt: skip
    if beat is None:
        admit(rows, agent._replace(started=rows.now))
    elif agent != known:
        rows.put_agent(agent)


def note_process(state: str, session: SessionRow) -> None:
    """Record an agent's process, so that commands it runs are attributed to it."""
    if session.pid and session.dialect not in EDITORS:
        note(state, session.pid, session.born, session.parent or session.id)


def forget_process(state: str, session: SessionRow) -> None:
    """Remove the record of an agent's process."""
    if session.pid and not session.parent:
        forget(state, session.pid, session.id)


def note_activity(rows: Rows, heard: HookEvent, session: SessionRow) -> None:
    """Record a call of a session that has sent its heartbeat: for its parent, and whether a tool runs."""
    agents = [session.id]
    if session.parent and rows.beat(session.parent) is not None:
        arrive(rows, Caller(session.parent, "agent"))
        agents.append(session.parent)
    if heard.moment in _TURNS:
        note_call(rows, session.id, "", is_open=False)
        if heard.moment != EventKind.PROMPTED:
            note_rest(rows, session.id)
    elif heard.moment in {EventKind.BEFORE, EventKind.AFTER} and not is_read(heard):
        call = "".join((heard.call or heard.tool or "call").split())[-_ID:]
        for agent in agents:
            note_call(rows, agent, call, is_open=heard.moment == EventKind.BEFORE)


def active_reader(rows: Rows, heard: HookEvent, who: HookCaller, ttl: float) -> str:
    """Return the agent of a read that needs no heartbeat and has no news; empty if there is more to do."""
    session = get_session(rows, row_of(rows, heard, who))
    if session is None or session.over or session.forgot or not runs_in(session, who):
        return ""
    for agent in (session.id, session.parent) if session.parent else (session.id,):
        beat = rows.beat(agent)
        if beat is None or rows.now - rows.active(agent) >= FRESH * min(ttl, beat.ttl):
            return ""
    return "" if rows.has_unread(session.id) else session.id
