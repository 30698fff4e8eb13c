"""Ask the server to answer a hook: one request, one answer, short timeouts.

If anything is wrong, the hook answers itself. A call may then be decided twice, which is harmless: an agent
that holds a file still holds it. Any program of this user can listen on the socket, so the hook asks only a
process that is the server: it holds the server's lock and runs this installation's code.

Imports neither ``os`` nor any Dibs module: loading them would take longer than the answer.
"""

import posix
import sys
from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from signal import ITIMER_REAL, SIGALRM, setitimer, signal
    from typing import Protocol

    class Source(Protocol):
        """What bytes are received from."""

        def recv(self, size: int, /) -> bytes:
            """Receive what has arrived."""
            ...

else:
    from _signal import ITIMER_REAL, SIGALRM, setitimer, signal

#: Time limit for the server's first reply, in seconds; the reply says how long the rest takes.
HEARD_IN = 0.25
#: Extra time on top of what the server says.
GRACE = 0.25
#: Time limit for reading the agent's call; the hook itself then allows as much again before it denies.
SAID_IN = 4.0
#: Size of a frame's header: its kind and length.
FRAME = 11
#: Kinds of frames: a new time limit; the answer; a request that this server does not serve.
WAIT, ANSWER, DECLINED = b"W", b"A", b"D"
#: The hook's confirmation that the answer is written.
WRITTEN = b"w"
#: As in ``hook``: a denial that cannot be printed is expressed by the exit status.
DENIES = b'"deny"'
UNPRINTED = b"dibs: blocked: the reason could not be printed on standard output; run: dibs status\n"
INPUT_MAX = 10 * 1024 * 1024
#: Linux: the credentials of the process that called ``listen``, and a handle of it. If it ended, this
#: fails, or (since 6.16) the handle's process is -1.
_SO_PEERCRED, _SO_PEERPIDFD, _ENOPROTOOPT = 17, 77, 92
#: The server's lock below the state folder: its process, in this many characters, then its handle.
SERVER_LOCK, PID_WIDTH = "dibs/server/server.lock", 20
#: The scripts that run a server, below the package.
PROGRAMS = ("server/run.py", "__main__.py")


def ask(path: str, words: "Sequence[str]", package: str) -> "tuple[int, bytes | None]":
    """Return the exit status once the answer is written; otherwise -1 and the call, if it was read."""
    given: bytes | None = None
    link = socket(AF_UNIX, SOCK_STREAM)
    try:
        link.settimeout(HEARD_IN)
        link.connect(path)
        if not is_our_server(link, package):
            return -1, None
        given = _read()
        link.sendall(question(words, given, package))
        kind, body = _frame(link)
        while kind == WAIT:
            link.settimeout(int(body) / 1000 + GRACE)
            kind, body = _frame(link)
        if kind != ANSWER:
            return -1, given
        return _say(link, body), given
    except (OSError, ValueError):
        return -1, given
    finally:
        link.close()


def is_our_server(link: socket, package: str) -> bool:
    """Return whether the process that listens is this installation's server; always False without Linux."""
    if sys.platform != "linux":
        return False
    try:
        told = link.getsockopt(SOL_SOCKET, _SO_PEERCRED, 12)
        pid, uid = (int.from_bytes(told[at : at + 4], sys.byteorder) for at in (0, 4))
        return (
            pid > 0  # 0: in another PID namespace
            and uid == posix.geteuid()
            and _holds_lock(pid)
            and _runs_our_code(pid, package)
            and _still_runs(
                link, pid
            )  # last, so that everything that was read is about the listener
        )
    except (OSError, ValueError):
        return False


def _still_runs(link: socket, pid: int) -> bool:
    """Return whether the listening process still has its number; kernels before 6.5 do not know."""
    try:
        handle = link.getsockopt(SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        return error.errno == _ENOPROTOOPT
    try:
        return b"\nPid:\t%d\n" % pid in _content(f"/proc/self/fdinfo/{handle}")
    finally:
        posix.close(handle)


def _holds_lock(pid: int) -> bool:
    """Return whether a process has the lock file open and locked: its content alone proves nothing."""
    base = posix.environ.get(b"XDG_STATE_HOME", b"")
    if not base.startswith(b"/"):
        base = posix.environ[b"HOME"] + b"/.local/state" if b"HOME" in posix.environ else b""
    path = base + b"/" + SERVER_LOCK.encode()
    holder = _content(path, posix.O_NOFOLLOW)
    if int(holder[:PID_WIDTH]) != pid:
        return False
    handle = int(holder[PID_WIDTH:])
    found, own = posix.stat(f"/proc/{pid}/fd/{handle}"), posix.lstat(path)
    locks = _content(f"/proc/{pid}/fdinfo/{handle}")
    same = (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)
    return same and any(b"FLOCK" in line and b"WRITE" in line for line in locks.splitlines())


def _runs_our_code(pid: int, package: str) -> bool:
    """Return whether a process is this Python with a script of ours and nothing that changes what it loads.

    ``argv[0]`` selects the packages that Python loads, ``-I`` ignores its variables, and the variables of
    the dynamic linker must be ours.
    """
    runs, ours = posix.stat(f"/proc/{pid}/exe"), posix.stat("/proc/self/exe")
    words = _content(f"/proc/{pid}/cmdline").split(b"\0")
    scripts = [f"{package}/{name}".encode("utf-8", "surrogateescape") for name in PROGRAMS]
    if (
        (runs.st_dev, runs.st_ino) != (ours.st_dev, ours.st_ino)
        or words[0] != sys.executable.encode("utf-8", "surrogateescape")
        or words[1] != b"-I"
        or words[2] not in scripts
        or (words[2] == scripts[1] and b"serve" not in words)
    ):
        return False
    for space in ("mnt", "user"):  # in others, the paths above lead to other files
        if posix.readlink(f"/proc/{pid}/ns/{space}") != posix.readlink(f"/proc/self/ns/{space}"):
            return False
    linked = {one for one in _content(f"/proc/{pid}/environ").split(b"\0") if one[:3] == b"LD_"}
    return linked == {k + b"=" + v for k, v in posix.environ.items() if k[:3] == b"LD_"}


def _content(path: "str | bytes", flags: int = 0) -> bytes:
    handle = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | flags)
    try:
        found = b""
        while part := posix.read(handle, 1 << 17):
            found += part
        return found
    finally:
        posix.close(handle)


def question(words: "Sequence[str]", given: bytes, package: str) -> bytes:
    """Return the request: counted texts, then the agent's call."""
    try:
        cwd = posix.getcwdb()
    except OSError:
        cwd = b""
    told = [word.encode("utf-8", "surrogateescape") for word in (package, *words)]
    environ = [name + b"=" + value for name, value in posix.environ.items()]
    texts = b"\0".join((b"%d" % len(words), *told, cwd, *environ))
    return b"Q%10d%10d" % (len(texts), len(given)) + texts + given


def _read() -> bytes:
    parts: list[bytes] = []
    size = 0
    before = signal(SIGALRM, _ring)
    setitimer(ITIMER_REAL, SAID_IN)
    try:
        while part := posix.read(0, 1 << 16):
            if size <= INPUT_MAX:
                parts.append(part)
            size += len(part)
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)
    return b"".join(parts)


def _ring(_number: int, _frame: object) -> None:
    raise TimeoutError


def _frame(link: socket) -> tuple[bytes, bytes]:
    head = exactly(link, FRAME)
    return head[:1], exactly(link, int(head[1:]))


def exactly(link: "Source", size: int) -> bytes:
    """Read ``size`` bytes, or raise an error."""
    found = bytearray()
    while len(found) < size:
        part = link.recv(min(size - len(found), 1 << 20))
        if not part:
            raise OSError
        found += part
    return bytes(found)


def _say(link: socket, body: bytes) -> int:
    """Print an answer frame (status, length of standard error, both texts); return the exit status."""
    status, size = body[0], int(body[1:11])
    told, answer = body[11 : 11 + size], body[11 + size :]
    written = _written(1, answer)
    if not _written(2, told) or not written:
        denies = DENIES in answer
        if denies and not told:  # some agents allow a call whose hook fails without a line
            _written(2, UNPRINTED)
        return 2 if denies else status
    try:
        link.sendall(WRITTEN)
    except OSError:
        return status  # without a confirmation, the briefing is repeated
    return status


def _written(handle: int, rest: bytes) -> bool:
    try:
        while rest:
            rest = rest[posix.write(handle, rest) :]
    except OSError:
        return False
    return True
