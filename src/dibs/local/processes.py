"""Processes by their number and the moment of their start: a number that is given out again is noticed.

Linux tells all of it by ``/proc``. Elsewhere only a process that is gone can be told from one that is there.
"""

from __future__ import annotations

import os

from dibs.local.repository import SESSIONS
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_PROC = "/proc"
_BOOT = f"{_PROC}/sys/kernel/random/boot_id"
#: Fields of ``/proc/<pid>/stat``, counted behind the command's closing bracket.
_STATE, _PARENT, _SESSION, _TERMINAL, _START = 0, 1, 3, 4, 19
#: States of a process that has ended and only waits to be noticed.
_ENDED = frozenset({"Z", "X", "x"})
#: No number of a process has so many digits.
_LONG = 12
#: ``/proc`` says less than this of a process in one line.
_MOST_SAID = 4_096
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_LOOKS, _PAUSE = 3, 0.05
#: No chain of processes is longer than this; a circle would be.
_DEEPEST = 64
#: Programs that only start others: a hook is started by them on behalf of the agent above.
_SHELLS = frozenset({
    "sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "rbash", "nu", "pwsh",
    "busybox", "env", "timeout", "nice", "ionice", "taskset", "nohup", "setsid", "stdbuf", "time", "xargs",
    "flock", "script", "strace", "sudo", "doas", "su", "runuser", "setpriv", "chroot", "unshare", "nsenter",
    "bwrap", "firejail", "uv", "uvx", "poetry", "pdm", "hatch", "rye", "pipx", "direnv", "mise", "dibs",
})  # fmt: skip
#: Agents that are the first process of a container.
_AGENTS = frozenset({"claude", "codex", "gemini", "copilot", "opencode", "node", "bun"})
#: Programs that take over the processes of those that ended; none of them is an agent.
_FOSTERS = frozenset({
    "init", "systemd", "launchd", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runit",
    "runsvdir", "procd", "conmon",
})  # fmt: skip


class RunningProcess(Record):
    """A process that runs."""

    pid: int
    #: When it started, in ticks since the machine did; 0 where that cannot be told.
    born: int = 0
    name: str = ""
    #: The process that started it, 0 where that cannot be told.
    above: int = 0
    #: Whether it leads the session of a terminal, as the shell that a person types into does.
    leads: bool = False

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.name or 'a process'} ({self.pid})"


def running(pid: int) -> RunningProcess | None:
    """Return the process with this number, None if there is none or it has ended.

    Of another user's process ``/proc`` may tell nothing, not even that it is there.
    """
    if pid <= 0:
        return None
    try:
        head, _, rest = _content(f"{_PROC}/{pid}/stat").rpartition(b")")
    except OSError:
        return RunningProcess(pid) if _answers(pid) else None
    words = rest.split()
    if len(words) <= _START or words[_STATE].decode() in _ENDED:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    leads = int(words[_SESSION]) == pid and words[_TERMINAL] != b"0"
    return RunningProcess(pid, int(words[_START]), name, int(words[_PARENT]), leads)


def is_there(pid: int, born: int) -> bool:
    """Tell whether the process still runs that had this number at that moment."""
    found = running(pid)
    return found is not None and (not born or not found.born or found.born == born)


def above(pid: int) -> Iterator[RunningProcess]:
    """Yield the processes that a process was started by, the nearest first; each is a look at ``/proc``."""
    found = running(pid)
    for _ in range(_DEEPEST):
        if found is None or found.above <= 0:
            return
        found = running(found.above)
        if found is not None:
            yield found


def agent_above(hook: int, told: str = "") -> RunningProcess | None:
    """Return the process of the agent that started a hook: the nearest above the hook that is no shell.

    ``told`` is the number that the agent itself gives; it counts if that process is above the hook.
    """
    number = int(told) if told.isascii() and told.isdigit() and len(told) < _LONG else 0
    nearest, known = None, False
    for process in above(hook):
        if process.pid == number:
            return process
        if not known and process.leads and process.name in _SHELLS:
            known = True  # a person pipes an event into the hook: their terminal is not an agent
        if not known and process.name not in _SHELLS:
            known = True
            foster = process.name in _FOSTERS or (process.pid == 1 and process.name not in _AGENTS)
            nearest = None if foster else process  # for a foster: whoever started the hook is gone
        if known and not number:
            break
    return nearest


def realm() -> str:
    """Return where process numbers mean the same: one start of one machine, one space of numbers."""
    host = os.uname().nodename if hasattr(os, "uname") else ""
    try:
        space = os.stat(f"{_PROC}/self/ns/pid").st_ino
        return f"{host}/{_content(_BOOT)[:8].decode()}/{space}"
    except (OSError, ValueError):
        return host


def _content(path: str) -> bytes:
    """Return what a small file says; a file object would cost more than the look itself."""
    handle = os.open(path, os.O_RDONLY | _CLOEXEC)
    try:
        return os.read(handle, _MOST_SAID)
    finally:
        os.close(handle)


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


# -- processes in a folder, by their current folder, their program and their files


def processes_in(*folders: str) -> list[RunningProcess] | None:
    """Return the processes that are in one of these folders; None where that cannot be told.

    A process of another user that this one may not look into is not seen.
    """
    if not os.path.exists(f"{_PROC}/self/cwd"):
        return None
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    return [found for pid in pids if _is_in(pid, folders) and (found := running(pid)) is not None]


def lasting_in(folder: str) -> list[RunningProcess] | None:
    """Return the processes that are in a folder and stay: git looks into many for a moment."""
    import time

    found = processes_in(folder)
    for _ in range(_LOOKS):
        if not found:
            break
        time.sleep(_PAUSE)
        still = {process.pid for process in processes_in(folder) or ()}
        found = [process for process in found if process.pid in still]
    return found


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a process that leads a group, and all of the group; kill it after ``grace`` seconds."""
    import signal
    import time

    until = time.monotonic() + grace
    number = signal.SIGTERM
    try:
        while True:
            os.killpg(process.pid, number)
            process.poll()
            if number == signal.SIGKILL:
                break
            time.sleep(_PAUSE)
            if time.monotonic() >= until:
                number = signal.SIGKILL
    except (ProcessLookupError, PermissionError):
        pass  # all are gone; on macOS only a zombie is left
    process.wait()


def _is_in(pid: int, folders: tuple[str, ...]) -> bool:
    about = f"{_PROC}/{pid}"
    try:
        handles = os.listdir(f"{about}/fd")
    except OSError:
        handles = []  # it ended, or is another user's
    links = [f"{about}/cwd", f"{about}/exe", *(f"{about}/fd/{handle}" for handle in handles)]
    return any(_beneath(link, folders) for link in links) or _maps(pid, folders)


def _beneath(link: str, folders: tuple[str, ...]) -> bool:
    try:
        path = os.readlink(link).removesuffix(" (deleted)")
    except OSError:
        return False
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _maps(pid: int, folders: tuple[str, ...]) -> bool:
    """Tell whether a process has a file in memory that it may have closed already."""
    try:
        with open(f"{_PROC}/{pid}/maps", "rb") as file:
            content = file.read()
    except OSError:
        return False
    # The kernel writes a line end in a name as octal digits, and nothing else.
    named = (os.fsencode(folder).replace(b"\n", rb"\012") for folder in folders)
    return any(b" " + folder + b"/" in content for folder in named)


# -- the process of each agent: a file in the state, named by its number, with its start and its agent; by it
# a command that an agent runs in its own shell is known to be the agent's

_MOST = 200


def note(state: str, pid: int, born: int, agent: str) -> None:
    """Note an agent's process. If that cannot be written, the agent has to name itself."""
    if _noted(state, pid) == [str(born), agent]:
        return
    folder = os.path.join(state, SESSIONS)
    from dibs.local.files import write_file

    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_file(os.path.join(folder, str(pid)), f"{born} {agent}\n")
    except OSError:
        return


def forget(state: str, pid: int, agent: str) -> None:
    """Remove that note, if it is about this agent."""
    if _noted(state, pid)[1:] == [agent]:
        try:
            os.unlink(os.path.join(state, SESSIONS, str(pid)))
        except OSError:
            return


def acting(state: str, pid: int = 0) -> str:
    """Return the agent that a process belongs to, by default this one; empty where it belongs to none."""
    try:
        names = os.listdir(os.path.join(state, SESSIONS))
    except OSError:
        return ""
    if not names:
        return ""
    known = set(names)
    for process in above(pid or os.getpid()):
        if str(process.pid) in known:
            words = _noted(state, process.pid)
            if words[:1] == [str(process.born)] and len(words) > 1:
                return words[1]
    return ""


def _noted(state: str, pid: int) -> list[str]:
    try:
        with open(os.path.join(state, SESSIONS, str(pid)), "rb") as file:
            return file.read(_MOST).decode("ascii", "replace").split()
    except OSError:
        return []
