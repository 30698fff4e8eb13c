"""Who is at the other end of the Unix socket: an agent, if its process belongs to one, else the human."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.core.claims.agents import HUMAN, Caller
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput, DibsError
from dibs.local.identity import VARIABLE, agent_of_process, doubt_here, host, human_id, in_session
from dibs.local.people import doubt_about
from dibs.local.processes import (
    above,
    environment_of,
    own_pid,
    running,
    session_number,
    variables_in,
)
from dibs.local.repository import find
from dibs.local.server_files import guarded_states
from dibs.server.projects import project_id, remembered
from dibs.server.security.identity import RequestIdentity, TokenScope
from dibs.server.security.refusals import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.server.projects import Projects
    from dibs.server.security.identity import Peer

_NAMED = f"{VARIABLE}=".encode()


def identity_of_peer(peer: Peer, projects: Projects) -> RequestIdentity:
    """Return who a process is; another user's processes and unknown ones are refused."""
    if peer.uid != os.getuid():
        raise _refused("the socket belongs to another user")
    session = _session(peer.pid)
    if session is None or running(peer.pid) is None:  # it ended, or is in a container
        raise _refused("the process at the other end is unknown")
    states = [served.state for served in projects.all()]
    agent, state = agent_behind(peer.pid, states)
    if agent:
        caller = Caller(agent, "agent", host())
        if state:
            return RequestIdentity(caller, TokenScope.AGENT, project_id(state))
        return RequestIdentity(caller, TokenScope.AGENT, named_by=peer.pid)
    own = variables_in(environment_of(peer.pid)) or os.environ
    doubt = doubt_about(peer.pid, states)
    if doubt:
        id_ = human_id(own, in_session(session))
        return RequestIdentity(Caller(id_, HUMAN, host(), doubt=doubt), TokenScope.AGENT)
    return RequestIdentity(Caller(human_id(own), HUMAN, host()), TokenScope.ADMIN)


def _session(pid: int) -> int | None:
    """Return the session of a process; None without the process."""
    try:
        return session_number(pid)
    except OSError:
        return None


def agent_behind(pid: int, states: Iterable[str]) -> tuple[str, str]:
    """Return the agent that a process belongs to, and its project's state; empty for a human.

    Sessions that the project's hooks have recorded decide, then the variables of the process and of those
    above it. A process that removes the variable is still below the one that has it.
    """
    for state in states:
        agent = agent_of_process(state, pid)
        if agent:
            return agent, state
    return _named(pid), ""


def agent_here(folder: str) -> tuple[str, str]:
    """Return the agent of this process in any project of this user, or why it may belong to one."""
    states = guarded_states()
    for root in remembered(folder):
        with suppress(DibsError, OSError):
            states.append(find(root).state)
    return agent_behind(own_pid(), states)[0], doubt_here(os.environ, *states)


def _named(pid: int) -> str:
    """Return the agent that the environment of a process, or of the nearest one above it, names."""
    for one in (pid, *(process.pid for process in above(pid))):
        for entry in environment_of(one):
            if entry.startswith(_NAMED) and entry != _NAMED:
                try:
                    return check_agent_id(os.fsdecode(entry[len(_NAMED) :]))
                except BadInput:
                    raise _refused(f"{VARIABLE} of the process is not an agent id") from None
    return ""


def _refused(why: str) -> RequestRefused:
    return RequestRefused(why, code="AUTH", status=403, hint="use TCP with a token: dibs token new")
