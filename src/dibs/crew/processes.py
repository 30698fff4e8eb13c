"""The processes of one agent: start them, find all of them, and end all of them.

A process belongs to an agent if its environment has the nonce of the agent's start, or if it descends from
the runner, which adopts what its children leave behind. Numbers are checked again before each signal, so no
other process is ever signaled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from dibs.crew.drivers.base import AgentCommandError
from dibs.local.processes import environment_of, is_there, running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: Marks the processes of one start of an agent.
MARK = "DIBS_CREW"
#: How long an agent has after an interrupt and after a request to terminate, in seconds; then it is killed.
GRACE = ((signal.SIGINT, 2.0), (signal.SIGTERM, 5.0))
#: How long to keep killing what appears anew.
_KILLING = 10.0
_POLL = 0.02
_PROC = "/proc"
_SUBREAPER = 36


def adopt_orphans() -> None:
    """Let this process become the parent of its descendants' orphans, so that none escapes (Linux)."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


class AgentProcesses:
    """Starts and ends the processes of one agent; used by its runner."""

    def __init__(
        self,
        nonce: str,
        cwd: str,
        environ: Mapping[str, str],
        errors: int,
    ) -> None:
        """``errors`` is the descriptor that gets standard error."""
        self._nonce = nonce
        self._cwd = cwd
        self._environ = {**environ, MARK: nonce}
        self._errors = errors

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a process with pipes, in a session of its own."""
        program = argv[0] if argv else ""
        found = find_program(program, self._environ.get("PATH", ""), self._cwd)
        try:
            return subprocess.Popen(  # noqa: S603 - words from the configuration, no shell
                [found, *argv[1:]], cwd=self._cwd, env=self._environ,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise AgentCommandError(f"cannot run {program}: {error.strerror or error}") from error

    def alive(self) -> list[int]:
        """Return the numbers of all processes of the agent."""
        return sorted({*marked(self._nonce), *_descendants(os.getpid())})

    def end(self, grace: Iterable[tuple[int, float]] = GRACE) -> bool:
        """Interrupt, terminate, and kill all processes; return whether none is left."""
        return end_all(self.alive, grace)


def end_all(alive: Callable[[], list[int]], grace: Iterable[tuple[int, float]] = GRACE) -> bool:
    """Interrupt, terminate, and kill what ``alive`` returns, until it returns nothing."""
    for number, patience in grace:
        if not _signal_and_wait(alive, number, patience):
            return True
    until = time.monotonic() + _KILLING
    while pids := alive():
        for pid in pids:
            _send(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return False
        time.sleep(_POLL)
    return True


def _signal_and_wait(alive: Callable[[], list[int]], number: int, patience: float) -> list[int]:
    for pid in alive():
        _send(pid, number)
        _send(pid, signal.SIGCONT)  # a stopped process does not react
    until = time.monotonic() + patience
    while (left := alive()) and time.monotonic() < until:
        time.sleep(_POLL)
    return left


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def marked(nonce: str) -> list[int]:
    """Return the running processes with an agent's nonce in their environment."""
    wanted = f"{MARK}={nonce}".encode()
    return [pid for pid in _numbers() if wanted in environment_of(pid) and running(pid) is not None]


def end_marked(nonce: str, pid: int, born: int) -> bool:
    """End the runner ``pid`` if it is still that process, and everything with the nonce; return success."""

    def alive() -> list[int]:
        runner = [pid] if pid and is_there(pid, born) else []
        return [*runner, *marked(nonce)]

    return end_all(alive, ())


def oom_kills() -> int:
    """Return how many processes in this control group the kernel killed for memory; 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"{_PROC}/self/cgroup", encoding="ascii") as file:
            path = next(line.strip().split(":", 2)[2] for line in file if line.startswith("0::"))
        with open(f"/sys/fs/cgroup{path}/memory.events", encoding="ascii") as file:
            counts = dict(line.split() for line in file)
        return int(counts.get("oom_kill", 0))
    return 0


def find_program(program: str, path: str, cwd: str) -> str:
    """Return the program's path; only a plain name is looked up, and a relative path is beneath ``cwd``."""
    import shutil

    if not program:
        raise AgentCommandError("the command is empty")
    if program.startswith("~"):
        raise AgentCommandError(f"{program}: ~ is not expanded", "use the full path")
    if "/" in program:
        found = os.path.join(cwd, program)
        if not os.path.isfile(found):
            raise AgentCommandError(f"{program} does not exist")
        if not os.access(found, os.X_OK):
            raise AgentCommandError(f"{program} is not executable", f"run: chmod +x {program}")
        return found
    named = shutil.which(program, path=path)
    if named is None:
        raise AgentCommandError(
            f"{program} is not on the PATH", "install it, or name its full path"
        )
    return named


def _numbers() -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    return []


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError, ValueError):
        for thread in os.listdir(f"{_PROC}/{pid}/task"):
            with open(f"{_PROC}/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def _descendants(pid: int) -> list[int]:
    """Return the running descendants of a process."""
    found: list[int] = []
    waiting = _children(pid)
    while waiting:
        child = waiting.pop()
        if child not in found:
            waiting += _children(child)
            if running(child) is not None:
                found.append(child)
    return found
