"""One question of a hook, answered as the hook would have answered it.

What depends on the hook's surroundings is told by the hook. What code far below reads from our own must be
the same in both: a question from others is declined, and the hook answers by itself.
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

#: Variables by which code below may act otherwise; whose agent it is, is told by the hook.
_FAMILIES = ("DIBS_", "GIT_", "XDG_")
_SINGLE = ("HOME", "TMPDIR")
_APART = frozenset({"DIBS_AGENT"})
#: More than this in front of what the agent said is no question.
_TEXTS_MAX = 4 * 1024 * 1024
_HEAD = 21
#: How long a hook may take to send its question, and to write the answer out.
_PATIENCE = 5.0


class Declined(BaseException):
    """The question is not for us. It is no failure, which would be an answer."""


class Question(Record):
    """What a hook asks."""

    package: str
    words: tuple[str, ...]
    cwd: str
    environ: dict[str, str]
    given: bytes


class Bound(Deadline):
    """A deadline that is told to the hook, which is the one that keeps it."""

    def __init__(self, link: socket.socket) -> None:
        super().__init__(DEADLINE)
        self._link = link
        self._wind()

    def _wind(self) -> None:
        """Tell the hook how long it lasts from now."""
        left = self._start + self._seconds - time.monotonic()
        try:
            self._link.sendall(frame(WAIT, b"%d" % max(0, left * 1000)))
        except OSError:
            raise Declined from None  # nobody waits any more


class EngineCache:
    """Answers questions, with engines that stay open."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.Lock()
        self._engines: dict[tuple[object, ...], Engine] = {}
        self._own = surroundings(os.environ)

    def answer(self, link: socket.socket) -> None:
        """Answer one connection: a question, its answer, and the word that it was written out."""
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
            return  # the hook went away, or is none

    def _is_ours(self, asked: Question, process: int) -> bool:
        same = asked.package == self._package and surroundings(asked.environ) == self._own
        return process > 0 and same

    def engine(self, place: Location) -> Engine:
        """Return an open engine for a project whose settings want it from us."""
        from dibs.project.engines import open_engine

        config = place.loaded.config
        if not config.guard_daemon:
            raise Declined
        key = (place.repository.state, *config)
        with self._lock:
            engine = self._engines.get(key)
            if engine is None:
                for other in [one for one in self._engines if one[0] == key[0]]:
                    del self._engines[
                        other
                    ]  # the settings have changed; whoever still uses it ends it
                engine = self._engines[key] = open_engine(place, anew=False)
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
    """Return the variables that must be the same in a hook and in the process that answers for it."""
    return {
        name: value
        for name, value in environ.items()
        if (name.startswith(_FAMILIES) and name not in _APART) or name in _SINGLE
    }


def frame(kind: bytes, body: bytes) -> bytes:
    """Return what goes to the hook at once."""
    return kind + b"%10d" % len(body) + body


def read_question(link: socket.socket) -> Question:
    """Read a question; ``ValueError`` for what is none."""
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
    """Return the hook's process if it is of this user, 0 if not."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0  # the hook's process cannot be told for certain, and by it the agent is known
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
