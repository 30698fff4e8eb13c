"""Processes that act under one ``DIBS_AGENT``: which of them made each grant.

Each grant has an empty file in the state, named by agent, token, and process. Two processes are the same
agent if one started the other: an agent and its scripts and subshells.
"""

from __future__ import annotations

import os

from dibs.local.processes import (
    RunningProcess,
    above,
    environment_of,
    is_foster,
    is_there,
    own_pid,
    running,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = "named"
#: How many grants of one process are remembered.
_MOST = 200


def process_named(agent: str, variable: str) -> RunningProcess | None:
    """Return the process that is this agent: the outermost one that was started with the name.

    If only this command was, its parent is: the shell that set the variable. None if unknown.
    """
    setting = f"{variable}={agent}".encode()
    outermost = None
    for process in above(own_pid()):
        if setting not in environment_of(process.pid):
            outermost = outermost or process
            break
        outermost = process
    return None if outermost is None or is_foster(outermost) else outermost


def others(state: str, agent: str, own: RunningProcess) -> dict[int, RunningProcess]:
    """Return the grants, by token, of other live processes with this name; forget those of dead ones."""
    found: dict[int, RunningProcess] = {}
    known: dict[tuple[int, int], RunningProcess | None] = {}
    for path, token, pid, born in _entries(state, agent):
        if (pid, born) == (own.pid, own.born):
            continue
        if (pid, born) not in known:
            known[pid, born] = running(pid) if is_there(pid, born) else None
        process = known[pid, born]
        if process is None:
            _forget(path)
        elif not _related(process, own):
            found[token] = process
    return found


def note(state: str, agent: str, token: int, own: RunningProcess) -> None:
    """Record that a process made a grant; if that fails, nobody can tell it apart."""
    folder = os.path.join(state, _FOLDER)
    mine = sorted(
        (number, path)
        for path, number, pid, born in _entries(state, agent)
        if (pid, born) == (own.pid, own.born)
    )
    for _, path in mine[: -_MOST + 1]:
        _forget(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{agent}~{token}~{own.pid}~{own.born}")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        return


def forget(state: str, agent: str, token: int, own: RunningProcess) -> None:
    """Remove the record that a process made a grant."""
    _forget(os.path.join(state, _FOLDER, f"{agent}~{token}~{own.pid}~{own.born}"))


def _related(one: RunningProcess, other: RunningProcess) -> bool:
    """Return whether one process started the other."""
    pairs = ((one, other), (other, one))
    return any(
        a.pid == found.pid and a.born == found.born for a, b in pairs for found in above(b.pid)
    )


def _entries(state: str, agent: str) -> Iterator[tuple[str, int, int, int]]:
    folder = os.path.join(state, _FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        who, *numbers = name.rsplit("~", 3)
        if who == agent and all(number.isdigit() for number in numbers):
            token, pid, born = map(int, numbers)
            yield os.path.join(folder, name), token, pid, born


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
