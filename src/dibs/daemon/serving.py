"""Answer a hook's request as the hook itself would.

The request contains the hook's environment. Variables that deeper code reads from this process must be the
same in both; otherwise the request is declined, and the hook answers on its own.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time

from dibs.errors import DibsError
from dibs.guard.agents.client import ANSWER, DECLINED, HEARD_IN, INPUT_MAX, WAIT, exactly
from dibs.guard.agents.deadline import Deadline
from dibs.guard.agents.program import DEADLINE, answer
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.toolcalls.values import HookReply
    from dibs.engines.base import Engine
    from dibs.project.engines import Location

#: Variables that deeper code reads; the agent's name is part of the request.
_FAMILIES = ("DIBS_", "GIT_", "XDG_")
_SINGLE = ("HOME", "TMPDIR")
_APART = frozenset({"DIBS_AGENT"})
#: The largest request header, in bytes.
_TEXTS_MAX = 4 * 1024 * 1024
_HEAD = 21
#: Seconds that a hook may take to send its request and to print the answer.
_PATIENCE = 5.0


class Declined(BaseException):
    """The request is not for this process. Not a ``DibsError``, which would be an answer."""


class Question(Record):
    """A hook's request."""

    package: str
    words: tuple[str, ...]
    cwd: str
    environ: dict[str, str]
    given: bytes


class Bound(Deadline):
    """A deadline that the hook enforces; this process only sends it."""

    def __init__(self, link: socket.socket) -> None:
        super().__init__(DEADLINE)
        self._link = link
        self._wind()

    def _wind(self) -> None:
        """Send the hook the time that is left."""
        left = self._start + self._seconds - time.monotonic()
        try:
            self._link.sendall(frame(WAIT, b"%d" % max(0, left * 1000)))
        except OSError:
            raise Declined from None  # the hook no longer waits


class EngineCache:
    """Answer requests with engines that stay open."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.Lock()
        self._engines: dict[tuple[object, ...], Engine] = {}
        self._own = surroundings(os.environ)

    def answer(self, link: socket.socket) -> None:
        """Answer one connection: the request, the answer, and the confirmation that it was printed."""
        try:
            link.settimeout(_PATIENCE)
            process = _peer(link)
            asked = read_question(link)
            if not self._is_ours(asked, process):
                _decline(link)
                return
            said, confirm = answer(
                asked.words, asked.given, asked.environ, asked.cwd, process, Bound(link), self
            )
            link.sendall(frame(ANSWER, _packed(said)))
            if confirm is not None and link.recv(1):
                confirm()
        except Declined:
            _decline(link)
        except (OSError, ValueError):
            return  # the hook is gone, or this was not a hook

    def _is_ours(self, asked: Question, process: int) -> bool:
        same = asked.package == self._package and surroundings(asked.environ) == self._own
        return process > 0 and same

    def engine(self, place: Location) -> Engine:
        """Return an open engine for a project that has the daemon enabled."""
        from dibs.project.engines import open_engine
        from dibs.project.local_store import store_identity

        config = place.loaded.config
        if not config.guard_daemon:
            raise Declined
        key = (place.repository.state, store_identity(place), *config)
        with self._lock:
            engine = self._engines.get(key)
            if engine is None:
                for other in [one for one in self._engines if one[0] == key[0]]:
                    del self._engines[other]  # settings or store changed; its last user closes it
                engine = self._engines[key] = open_engine(place, recreate=False)
        return engine

    def close(self) -> None:
        """Close all engines."""
        with self._lock:
            for engine in self._engines.values():
                try:
                    engine.close()
                except DibsError:
                    continue
            self._engines.clear()


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must be the same in the hook and in the daemon."""
    return {
        name: value
        for name, value in environ.items()
        if (name.startswith(_FAMILIES) and name not in _APART) or name in _SINGLE
    }


def frame(kind: bytes, body: bytes) -> bytes:
    """Return one message to the hook."""
    return kind + b"%10d" % len(body) + body


def read_question(link: socket.socket) -> Question:
    """Read a request; raise ``ValueError`` if it is malformed."""
    head = exactly(link, _HEAD)
    size, given_size = int(head[1:11]), int(head[11:])
    if (
        head[:1] != b"Q"
        or not 0 < size <= _TEXTS_MAX
        or not 0 <= given_size <= INPUT_MAX + (1 << 16)
    ):
        raise ValueError
    count, *texts = map(os.fsdecode, exactly(link, size).split(b"\0"))
    words = int(count)
    package, told, rest = texts[0], texts[1 : 1 + words], texts[1 + words :]
    environ = dict(text.partition("=")[::2] for text in rest[1:])
    return Question(package, tuple(told), rest[0], environ, exactly(link, given_size))


def _peer(link: socket.socket) -> int:
    """Return the hook's process if it belongs to this user, else 0."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0  # the process, which identifies the agent, is unknown here
    size = struct.calcsize("3i")
    told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _ = struct.unpack("3i", told)
    return pid if uid == os.geteuid() else 0


def _packed(said: HookReply) -> bytes:
    out, wrong = (
        f"{text}\n".encode("utf-8", "replace") if text else b""
        for text in (said.stdout, said.stderr)
    )
    return bytes([said.status]) + b"%10d" % len(wrong) + wrong + out


def _decline(link: socket.socket) -> None:
    try:
        link.settimeout(HEARD_IN)
        link.sendall(frame(DECLINED, b""))
    except OSError:
        return
