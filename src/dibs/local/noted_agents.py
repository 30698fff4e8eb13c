"""Records of the process of each guarded agent, which identify the commands that it runs in its own shell.

A record is a file in the state, named by the process number, with start time, agent, and realm.
"""

# On the path of hooks: import only built-in modules and the packed ones.

from __future__ import annotations

import os
from itertools import chain

from dibs.local.files import read_or_empty
from dibs.local.processes import above, is_there, own_pid, realm, running
from dibs.local.repository import SESSIONS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 400
#: A process in another PID namespace is not visible. The number of seconds for which it counts after its
#: agent's last call, and the precision with which that time is stored.
_UNSEEN, _PRECISE = 12 * 3600.0, 600.0


class NotedAgent(Record):
    """The recorded process of a guarded agent."""

    agent: str
    pid: int
    born: int
    realm: str = ""


def note(state: str, pid: int, born: int, agent: str) -> None:
    """Record an agent's process. If that fails, the agent must set its name."""
    if _noted(state, pid)[:2] == [str(born), agent]:
        _note_call(state, pid)
        return
    folder = os.path.join(state, SESSIONS)
    from dibs.local.files import write_file
    from dibs.local.server_files import note_guarded

    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _drop_ended(state)
        note_guarded(state)
        write_file(os.path.join(folder, str(pid)), f"{born} {agent} {realm()}\n")
    except OSError:
        return


def _note_call(state: str, pid: int) -> None:
    """Record the time of an agent's call."""
    path = os.path.join(state, SESSIONS, str(pid))
    try:
        if _age(path) >= _PRECISE:
            os.utime(path)
    except OSError:
        return


def _age(path: str) -> float:
    """Return how many seconds ago a file was changed."""
    import time

    return time.time() - os.stat(path).st_mtime


def _drop_ended(state: str) -> None:
    """Remove the records of processes that have ended: a session may end long before its process."""
    folder = os.path.join(state, SESSIONS)
    names = [name for name in os.listdir(folder) if name.isdigit()]
    runs = {str(one.pid) for one in noted_agents(state)} if names else set()
    for name in names:
        if name not in runs:
            os.unlink(os.path.join(folder, name))


def forget(state: str, pid: int, agent: str) -> None:
    """Remove the record if it is about this agent."""
    if _noted(state, pid)[1:2] == [agent]:
        try:
            os.unlink(os.path.join(state, SESSIONS, str(pid)))
        except OSError:
            return


def acting(state: str, pid: int = 0) -> str:
    """Return the agent that a process, by default this one, belongs to; empty if none."""
    return next((agent for _, agent in agents_above(state, pid)), "")


def agents_above(state: str, pid: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the agents that a process, by default this one, runs below, with their own processes."""
    known = set(_records(state))
    if not known:
        return
    itself = running(pid) if pid else None  # another process may be the agent itself
    for process in chain([itself] if itself else (), above(pid or own_pid())):
        if str(process.pid) in known:
            words = _noted(state, process.pid)
            if words[:1] == [str(process.born)] and len(words) > 1:
                yield process.pid, words[1]


def noted_agents(state: str) -> list[NotedAgent]:
    """Return the recorded agents that may still run: not those whose process has ended."""
    names = _records(state)
    here, found = realm() if names else "", []
    for name in names:
        words = _noted(state, int(name)) if name.isdigit() else []
        if len(words) < 2 or not words[0].isdigit():  # noqa: PLR2004 - written by something else
            continue
        one = NotedAgent(words[1], int(name), int(words[0]), words[2] if words[2:] else here)
        if _may_run(state, one, here):
            found.append(one)
    return found


def _may_run(state: str, one: NotedAgent, here: str) -> bool:
    """Return whether a recorded process may still run on this machine."""
    if one.realm == here:
        return is_there(one.pid, one.born)
    there, boot = one.realm.split("/")[1:2], here.split("/")[1:2]
    if there and boot and there != boot:
        return False  # from before this machine was started, or from another one
    try:
        return _age(os.path.join(state, SESSIONS, str(one.pid))) < _UNSEEN
    except OSError:
        return False


def _records(state: str) -> list[str]:
    try:
        return os.listdir(os.path.join(state, SESSIONS))
    except OSError:
        return []


def _noted(state: str, pid: int) -> list[str]:
    text = read_or_empty(os.path.join(state, SESSIONS, str(pid)), _MOST)
    return text.decode("ascii", "replace").split()
