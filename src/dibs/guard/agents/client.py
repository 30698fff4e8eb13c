"""Ask the server to answer a hook: one request, one answer, short timeouts.

If anything is wrong, the hook answers itself. A call may then be decided twice, which is harmless: an agent
that holds a file still holds it. The socket is in a folder that only this user can use.

Imports neither ``os`` nor any Dibs module: loading them would take longer than the answer.
"""

import posix
from _socket import AF_UNIX, SOCK_STREAM, socket

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


def ask(path: str, words: "Sequence[str]", package: str) -> "tuple[int, bytes | None]":
    """Return the exit status once the answer is written; otherwise -1 and the call, if it was read."""
    given: bytes | None = None
    link = socket(AF_UNIX, SOCK_STREAM)
    try:
        link.settimeout(HEARD_IN)
        link.connect(path)
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
