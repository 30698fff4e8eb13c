"""Heartbeats for sessions whose process runs on this machine, sent by a server for as long as it does.

Such a heartbeat keeps claims and does not count as activity: an agent that hangs still looks idle. It is
sent for agents that hold or wait for something, only when it is due, for all of them at once.
"""

from __future__ import annotations

import time

from dibs.core.claims.agents import NEVER, heartbeat_every
from dibs.local.boottime import boot_shift
from dibs.local.processes import TICKS, is_there, realm, running
from dibs.services.state.facts import LONGEST_CALL
from dibs.services.state.presence import keep_alive
from dibs.services.state.sessions import EDITORS, session_of, sessions
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Agent, Beat
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store

#: If one heartbeat is due, those that become due in this share of their interval are sent with it.
_SOON = 0.5
#: A process of an agent that joined without hooks started before it joined by at most this many seconds.
_LATER = 60.0


class WatchedProcess(Record):
    """The process of a session on this machine."""

    agent: str
    pid: int
    born: int


class Liveness:
    """Watches over the sessions of one project on this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def processes(self) -> list[WatchedProcess]:
        """Return the processes whose end ends a session."""
        here = realm()

        def step(rows: Rows) -> list[WatchedProcess]:
            found = (session for _, session in sessions(rows))
            return [
                WatchedProcess(session.id, session.pid, session.born)
                for session in found
                if session.pid and session.realm == here
            ]

        return self._store.look(step)

    def keep(self) -> float:
        """Send the heartbeats that are due, and return the seconds until the next one."""
        times = self._store.look(self._times)
        if not any(left <= 0 for left, _ in times.values()):
            return min((left for left, _ in times.values()), default=NEVER)
        chosen = [agent for agent, (left, every) in times.items() if left <= _SOON * every]

        def step(rows: Rows) -> None:
            known = self._times(rows)
            for agent in chosen:
                if agent in known and known[agent][0] <= _SOON * known[agent][1]:
                    keep_alive(rows, agent)

        self._store.apply(step)
        rest = (left for agent, (left, _) in times.items() if agent not in chosen)
        return min([*rest, *(times[agent][1] for agent in chosen)])

    def _times(self, rows: Rows) -> dict[str, tuple[float, float]]:
        """Return when the next heartbeat of each agent with a running process is due, and how often."""
        found: dict[str, tuple[float, float]] = {}
        for agent, beat in _running(rows).items():
            if beat.ttl < NEVER:
                every = heartbeat_every(self._store.config.heartbeat, beat.ttl)
                found[agent] = beat.seen + every - rows.now, every
        return found


def live_sessions(rows: Rows, agent: str) -> list[SessionRow]:
    """Return an agent's sessions that have not ended: here their process runs, elsewhere it is alive."""
    here, beat = realm(), rows.beat(agent)
    return [
        session
        for _, session in sessions(rows)
        if session.id == agent
        and not session.over
        and session.pid
        and (
            is_there(session.pid, session.born)
            if session.realm == here
            else beat is not None and rows.now < beat.seen + beat.ttl
        )
    ]


def _running(rows: Rows) -> dict[str, Beat]:
    """Return the heartbeats of agents that have not ended and whose process runs on this machine."""
    here = realm()
    found = {}
    for _, session in sessions(rows):
        beat = rows.beat(session.id)
        if beat is not None and not session.over and _runs(rows, session, here):
            found[session.id] = beat
    for agent in rows.agents():
        if agent.pid and agent.id not in found and agent.host == here.partition("/")[0]:
            beat = rows.beat(agent.id)
            if (
                beat is not None
                and session_of(rows, agent.id) is None
                and _is_process_of(rows, agent)
            ):
                found[agent.id] = beat
    return found


def _runs(rows: Rows, session: SessionRow, here: str) -> bool:
    """Return whether a session's process runs; one that it shares proves little after an hour of silence."""
    if not session.pid or session.realm != here:
        return False
    shared = bool(session.parent) or session.dialect in EDITORS
    if shared and rows.now >= rows.active(session.id) + LONGEST_CALL:
        return False
    return is_there(session.pid, session.born)


def _is_process_of(rows: Rows, agent: Agent) -> bool:
    """Return whether the process that an agent joined with still runs; the number may have been reused."""
    found = running(agent.pid)
    if found is None or not found.born:
        return False
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - boot_shift() - found.born / TICKS
    return rows.now - age <= agent.started + _LATER
