"""Processes, identified by number and start time, so that a reused number is detected.

On Linux, ``/proc`` provides all of it. Elsewhere Dibs only knows whether a process number is in use.
"""

from __future__ import annotations

import os
import sys

from dibs.local.boottime import boot_shift
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator

_PROC = "/proc"
_BOOT = f"{_PROC}/sys/kernel/random/boot_id"
#: Fields of ``/proc/<pid>/stat``, counted after the command's closing parenthesis.
_STATE, _PARENT, _SESSION, _TERMINAL, _START = 0, 1, 3, 4, 19
#: The kernel counts start times in this unit, per second, whatever its own clock does.
TICKS = 100
#: States of a process that has exited and was not reaped.
_ENDED = frozenset({"Z", "X", "x"})
#: A process number has fewer digits than this.
_LONG = 12
#: The most bytes that are read from a file in ``/proc``.
_MOST_SAID = 4_096
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_LOOKS, _PAUSE = 3, 0.05
#: The longest chain of parent processes; protects against cycles.
_DEEPEST = 64
#: Programs that only start others, on behalf of the agent above them.
_SHELLS = frozenset({
    "sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "rbash", "nu", "pwsh",
    "busybox", "env", "timeout", "nice", "ionice", "taskset", "nohup", "setsid", "stdbuf", "time", "xargs",
    "flock", "script", "strace", "sudo", "doas", "su", "runuser", "setpriv", "chroot", "unshare", "nsenter",
    "bwrap", "firejail", "uv", "uvx", "poetry", "pdm", "hatch", "rye", "pipx", "direnv", "mise", "dibs",
})  # fmt: skip
#: Agents that can be the first process of a container.
_AGENTS = frozenset({"claude", "codex", "gemini", "copilot", "opencode", "node", "bun"})
#: Programs that adopt orphaned processes; none of them is an agent.
_FOSTERS = frozenset({
    "init", "systemd", "launchd", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runit",
    "runsvdir", "procd", "conmon",
})  # fmt: skip


class RunningProcess(Record):
    """A running process."""

    pid: int
    #: When it started, in ticks since boot; 0 if unknown.
    born: int = 0
    name: str = ""
    #: Its parent process; 0 if unknown.
    above: int = 0
    #: Whether it leads a terminal session, like a person's shell.
    leads: bool = False
    #: The device number of its controlling terminal; 0 without one.
    terminal: int = 0

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.name or 'a process'} ({self.pid})"


def running(pid: int) -> RunningProcess | None:
    """Return the process with this number; None if there is none or it has exited.

    ``/proc`` may hide the processes of other users.
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
    terminal = int(words[_TERMINAL])
    leads = int(words[_SESSION]) == pid and terminal != 0
    born = int(words[_START]) - round(boot_shift() * TICKS)
    return RunningProcess(pid, born, name, int(words[_PARENT]), leads, terminal)


def is_there(pid: int, born: int) -> bool:
    """Return whether the process with this number and start time is still running."""
    found = running(pid)
    if found is None or not born or not found.born:
        return found is not None
    return abs(found.born - born) <= 1  # a time namespace may round differently


def own_pid() -> int:
    """Return this process's number in ``/proc``, which may show another PID namespace than its own."""
    try:
        return int(os.readlink(f"{_PROC}/self"))
    except (OSError, ValueError):
        return os.getpid()


def above(pid: int) -> Iterator[RunningProcess]:
    """Yield the ancestors of a process, the nearest first; each costs a read of ``/proc``."""
    found = running(pid)
    for _ in range(_DEEPEST):
        if found is None or found.above <= 0:
            return
        found = running(found.above)
        if found is not None:
            yield found


def environment_of(pid: int) -> frozenset[bytes]:
    """Return the variables with which a process was started; empty if they are hidden or unknown."""
    try:
        with open(f"{_PROC}/{pid}/environ", "rb", buffering=0) as file:
            return frozenset(file.read().split(b"\0"))
    except OSError:
        return frozenset()


def variables_in(environment: Iterable[bytes]) -> dict[str, str]:
    """Return the variables in a process's environment by name."""
    pairs = (os.fsdecode(line).partition("=") for line in environment)
    return {name: value for name, _, value in pairs}


def is_foster(process: RunningProcess) -> bool:
    """Return whether a process only adopts orphaned ones, and so says nothing about who started them."""
    return process.name in _FOSTERS or (process.pid == 1 and process.name not in _AGENTS)


def agent_above(hook: int, told: str = "") -> RunningProcess | None:
    """Return the process of the agent that started a hook: the hook's nearest ancestor that is not a shell.

    ``told`` is the number that the agent itself reports; it counts if that process is an ancestor.
    """
    number = int(told) if told.isascii() and told.isdigit() and len(told) < _LONG else 0
    nearest, known = None, False
    for process in above(hook):
        if process.pid == number:
            return process
        if not known and process.leads and process.name in _SHELLS:
            known = True  # a person pipes an event into the hook; a terminal is not an agent
        if not known and process.name not in _SHELLS:
            known = True
            # adopted: the process that started the hook is dead
            nearest = None if is_foster(process) else process
        if known and not number:
            break
    return nearest


def is_hidden() -> bool:
    """Return whether ``/proc`` is missing or shows another PID namespace, as an agent can arrange it."""
    if sys.platform != "linux":
        return False
    return own_pid() != os.getpid() or not os.path.exists(f"{_PROC}/self/stat")


def realm() -> str:
    """Return the scope in which process numbers are unique: one boot of one machine and one PID namespace."""
    host = os.uname().nodename if hasattr(os, "uname") else ""
    try:
        space = os.stat(f"{_PROC}/self/ns/pid").st_ino
        return f"{host}/{_content(_BOOT)[:8].decode()}/{space}"
    except (OSError, ValueError):
        return host


def session_number(pid: int = 0) -> int:
    """Return the login session of a process, by default this one.

    If it began outside of this PID namespace, the number of the namespace, which others do not have.
    """
    if not hasattr(os, "getsid"):
        return os.getppid()
    found = os.getsid(pid)
    space = "" if found else realm().rpartition("/")[2]
    return int(space) if space.isdigit() else found


def _content(path: str) -> bytes:
    """Return the content of a small file; a file object would cost more than the read."""
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


# -- processes that use a folder: as current folder, for their program, or for open files


def processes_in(*folders: str) -> list[RunningProcess] | None:
    """Return the processes that use one of these folders; None if that is unknown on this system.

    Processes that this user may not inspect are not found.
    """
    if not os.path.exists(f"{_PROC}/self/cwd"):
        return None
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    return [found for pid in pids if _is_in(pid, folders) and (found := running(pid)) is not None]


def lasting_in(folder: str) -> list[RunningProcess] | None:
    """Return the processes that keep using a folder; git uses many folders for a moment."""
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
    """Terminate a process group; kill it after ``grace`` seconds."""
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
        pass  # all have exited; on macOS, a zombie is left
    process.wait()


def _is_in(pid: int, folders: tuple[str, ...]) -> bool:
    about = f"{_PROC}/{pid}"
    try:
        handles = os.listdir(f"{about}/fd")
    except OSError:
        handles = []  # it exited, or belongs to another user
    links = [f"{about}/cwd", f"{about}/exe", *(f"{about}/fd/{handle}" for handle in handles)]
    return any(_beneath(link, folders) for link in links) or _maps(pid, folders)


def _beneath(link: str, folders: tuple[str, ...]) -> bool:
    try:
        path = os.readlink(link).removesuffix(" (deleted)")
    except OSError:
        return False
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _maps(pid: int, folders: tuple[str, ...]) -> bool:
    """Return whether a process has mapped a file in one of the folders."""
    try:
        with open(f"{_PROC}/{pid}/maps", "rb") as file:
            content = file.read()
    except OSError:
        return False
    # The kernel escapes only newlines in names, as octal digits.
    named = (os.fsencode(folder).replace(b"\n", rb"\012") for folder in folders)
    return any(b" " + folder + b"/" in content for folder in named)
