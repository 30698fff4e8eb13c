"""A hook's question to the process that stays: one question, one answer, and no patience.

Whatever is not as it should be, the hook answers by itself. A question that was asked and not answered may be
decided twice; whoever holds a file holds it still, so that does no harm.

Started without ``os`` and without any module of ours: loading them would take longer than the answer.
"""

import posix
from _socket import AF_UNIX, SOCK_STREAM, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from signal import ITIMER_REAL, SIGALRM, setitimer, signal
else:
    from _signal import ITIMER_REAL, SIGALRM, setitimer, signal

#: How long the process may take to say that it has heard, in seconds; it says then how long the rest takes.
HEARD_IN = 0.25
#: What the answer may take longer than the process says.
GRACE = 0.25
#: How long an agent may take to say all of its call; the hook gives it as long once more, then refuses.
SAID_IN = 4.0
#: A frame: its kind, and how long it is.
FRAME = 11
#: Kinds of frames: the bound has changed; the answer; the question is not for this process.
WAIT, ANSWER, DECLINED = b"W", b"A", b"D"
#: What the hook says once the answer is written out.
WRITTEN = b"w"
#: As in ``hook``: a refusal that cannot be said refuses by the status.
DENIES = b'"deny"'
INPUT_MAX = 10 * 1024 * 1024


def ask(path: str, words: "Sequence[str]", package: str) -> "tuple[int, bytes | None]":
    """Return the exit status once the answer is written; else -1, and what the agent said if it was read."""
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
    """Return what is sent: texts behind their number, then what the agent said."""
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


def exactly(link: socket, size: int) -> bytes:
    """Read so many bytes, or raise an error."""
    found = bytearray()
    while len(found) < size:
        part = link.recv(min(size - len(found), 1 << 20))
        if not part:
            raise OSError
        found += part
    return bytes(found)


def _say(link: socket, body: bytes) -> int:
    """Write the answer out: status and length of what goes to standard error, then all of it."""
    status, size = body[0], int(body[1:11])
    told, answer = body[11 : 11 + size], body[11 + size :]
    written = _written(1, answer)
    if not _written(2, told) or not written:
        return 2 if DENIES in answer else status
    try:
        link.sendall(WRITTEN)
    except OSError:
        return status  # nobody waits to hear that it was read: it is told again then
    return status


def _written(handle: int, rest: bytes) -> bool:
    try:
        while rest:
            rest = rest[posix.write(handle, rest) :]
    except OSError:
        return False
    return True
