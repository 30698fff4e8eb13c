"""Determine the caller of a project's services, and check it against the sessions in the store.

The only place that decides which names a process may use; every surface calls it once for each project that
it opens.
"""

from __future__ import annotations

import os

from dibs.core.claims.agents import HUMAN, Caller, may_act_for
from dibs.errors import NotAllowed
from dibs.local.identity import FLAG, NAMED
from dibs.local.repository import SESSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.local.identity import Identity
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store


def caller_of(
    store: Store, identity: Identity, state: str, *, command: str = "", host: str = ""
) -> Caller:
    """Return the caller; raise ``NotAllowed`` (``NOT_YOU``) if its process may not use the name.

    ``command`` is the Dibs command with its verb; for some of them, a human may name a running agent.
    """
    caller = as_caller(identity, host)
    if identity.source not in {FLAG, NAMED}:
        return caller
    if identity.by and not identity.by_human:
        store.look(lambda rows: _check_family(rows, identity))
    elif _has_sessions(state) and not (identity.by_human and _is_for_agents(command)):
        from dibs.local.processes import own_pid

        check_tree(store, identity.id, own_pid(), by_human=identity.by_human)
    return caller


def as_caller(identity: Identity, host: str) -> Caller:
    """Return the caller with an identity, before its name is checked."""
    role = HUMAN if identity.human else "agent"
    return Caller(identity.id, role, host, identity.by, identity.by_human, identity.doubt)


def check_tree(store: Store, agent: str, pid: int, *, by_human: bool = False) -> None:
    """Refuse the name of a running session to a process outside of its process tree."""
    found = store.look(lambda rows: _session(rows, agent))
    if found is not None:
        _check_tree(found, pid, by_human=by_human)


def _is_for_agents(command: str) -> bool:
    from dibs.core.claims.commands import is_for_agents  # most calls do not need the tables

    return is_for_agents(command)


def _has_sessions(state: str) -> bool:
    try:
        return bool(os.listdir(os.path.join(state, SESSIONS)))
    except OSError:
        return False


def _check_family(rows: Rows, identity: Identity) -> None:
    """Refuse a name that is not the process's own agent or one of its subagents."""
    parents = {agent.id: agent.parent for agent in rows.agents()}
    if identity.id not in parents or not may_act_for(identity.by, identity.id, parents):
        drop = "omit --agent" if identity.source == FLAG else "do not change DIBS_AGENT"
        raise NotAllowed(
            f"you are {identity.by}, not {identity.id}: this process belongs to {identity.by}",
            code="NOT_YOU",
            field="agent",
            hint=f"{drop}; to reach another agent: dibs ask PATH, or dibs say {identity.id} TEXT",
        )


def _session(rows: Rows, agent: str) -> SessionRow | None:
    from dibs.services.state.sessions import session_of

    found = session_of(rows, agent)
    return None if found is None else found[1]


def _check_tree(session: SessionRow, pid: int, *, by_human: bool) -> None:
    from dibs.local.processes import above
    from dibs.services.state.sessions import has_process

    if has_process(session):
        related = {pid, *(one.pid for one in above(pid))}
        if session.pid in related or pid in {one.pid for one in above(session.pid)}:
            return
        kind = "an ended session whose process still runs" if session.over else "a running session"
        why = f"{session.id} is {kind} ({session.dialect}, process {session.pid})"
    elif not session.over and _is_outside(session):
        why = f"{session.id} is a session outside of this PID namespace"
    else:
        return
    own = f"use a name of your own, such as {session.id}-2"
    human = "omit the name to act as yourself; a human may use it for `dibs release` and similar commands"
    raise NotAllowed(
        f"{why}, so its name works only in its own process tree",
        code="NOT_YOU",
        field="agent",
        hint=human if by_human else own,
    )


def _is_outside(session: SessionRow) -> bool:
    """Return whether a session is in a PID namespace of this machine that may contain this one's process."""
    from dibs.local.processes import is_hidden, realm, running

    there, here = session.realm.split("/"), realm().split("/")
    if is_hidden():
        return there[0] == here[0]
    first = running(1)
    return (
        there != here and there[:2] == here[:2] and first is not None and first.born > session.born
    )
