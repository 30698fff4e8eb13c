"""Answer a hook's request as the hook itself would.

The request contains the hook's environment. Variables that deeper code reads from this process must be the
same in both; otherwise the request is declined, and the hook answers on its own.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import time
from functools import lru_cache, partial
from shutil import which
from typing import TYPE_CHECKING

from dibs.core.text.names import printable
from dibs.errors import DibsError
from dibs.guard.agents.client import ANSWER, DECLINED, HEARD_IN, INPUT_MAX, WAIT, exactly
from dibs.guard.agents.deadline import Deadline
from dibs.guard.agents.program import DEADLINE, answer
from dibs.server.engines import EngineCache
from dibs.server.process.options import own_package
from dibs.startup.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.core.toolcalls.values import HookReply
    from dibs.engines.base import Engine
    from dibs.guard.agents.client import Source
    from dibs.project.location import Location
    from dibs.server.resident import Resident
    from dibs.services.guard.file_log import Observation

#: Variables that deeper code reads from its own process.
_FAMILIES = ("DIBS_", "GIT_")
_SINGLE = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
#: Of these families, variables that do not change an answer: agents and terminals set them.
_APART = ("DIBS_TASK", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_PS1_", "GIT_TRACE")
_APART_SINGLE = frozenset(
    {"DIBS_AGENT", "GIT_ASKPASS", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR",
     "GIT_TERMINAL_PROMPT"}
)  # fmt: skip
#: The largest request header, in bytes.
_TEXTS_MAX = 4 * 1024 * 1024
_HEAD = 21
#: Seconds that a hook may take to send its whole request, and then to print the answer.
SENT_IN = PRINTED_IN = 5.0
log = logging.getLogger("dibs.server")


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


class HookAnswers:
    """Answers requests with engines that stay open, and adds their projects to the server."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident
        self._package = own_package()
        self._own = surroundings(os.environ)
        # Hooks open engines with short timeouts, so they do not share those of other calls.
        self._engines = EngineCache()
        #: The projects of all calls, their folders by their state, and those that are served.
        self._used: dict[str, str] = {}
        self._known: set[str] = set()

    def answer(self, link: socket.socket) -> None:
        """Answer one connection: the request, the answer, and the confirmation that it was printed."""
        try:
            process = _peer(link)
            asked = read_question(_InTime(link, SENT_IN))
            link.settimeout(PRINTED_IN)
            if not self._is_ours(asked, process):
                _decline(link)
                return
            lender = _HookLender(self._engines, self._used, self._resident)
            said, confirm = answer(
                asked.words, asked.given, asked.environ, asked.cwd, process, Bound(link), lender
            )
            link.sendall(frame(ANSWER, _packed(said)))
            if confirm is not None and link.recv(1):
                confirm()
        except Declined:
            _decline(link)
        except (OSError, ValueError):
            return  # the hook is gone, or this was not a hook
        finally:
            link.close()
            self._add_projects()

    def close(self) -> None:
        """Close the engines."""
        self._engines.close()

    def _is_ours(self, asked: Question, process: int) -> bool:
        same = asked.package == self._package and surroundings(asked.environ) == self._own
        # An agent may have started this process with programs of its own on the PATH.
        git = _git_on(asked.environ.get("PATH", "")) == _git_on(os.environ.get("PATH", ""))
        return process > 0 and same and git

    def _add_projects(self) -> None:
        """Serve the projects of past calls from now on; called after an answer."""
        for state, root in list(self._used.items()):
            if state not in self._known:
                self._known.add(state)
                try:
                    self._resident.projects.add(root)
                except (DibsError, OSError) as error:
                    log.warning("cannot serve %s: %s", printable(root), printable(str(error)))


class _HookLender:
    """Lends engines to one call, and records the projects that it used."""

    def __init__(self, engines: EngineCache, used: dict[str, str], resident: Resident) -> None:
        self._engines = engines
        self._used = used
        self._resident = resident

    def engine(self, place: Location) -> Engine:
        """Return the open engine of a project."""
        self._used[place.repository.state] = place.repository.root
        return self._engines.engine(place)

    def observer(self, place: Location) -> Callable[[Observation], None]:
        """Return what collects the files that agents edit and read."""
        return partial(self._resident.observations.add, place.repository.state)


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must be the same in the hook and in the server."""
    return {
        name: value
        for name, value in environ.items()
        if (
            name.startswith(_FAMILIES) and name not in _APART_SINGLE and not name.startswith(_APART)
        )
        or name in _SINGLE
    }


@lru_cache(maxsize=256)
def _git_on(path: str) -> str:
    """Return the git that a PATH selects."""
    found = which("git", path=path)
    return os.path.realpath(found) if found else ""


def frame(kind: bytes, body: bytes) -> bytes:
    """Return one message to the hook."""
    return kind + b"%10d" % len(body) + body


class _InTime:
    """Limits the total time to receive a request, so a slow sender does not occupy a thread."""

    def __init__(self, link: socket.socket, seconds: float) -> None:
        self._link = link
        self._until = time.monotonic() + seconds

    def recv(self, size: int) -> bytes:
        """Receive what has arrived; raise ``TimeoutError`` if the time is over."""
        self._link.settimeout(max(0.001, self._until - time.monotonic()))
        return self._link.recv(size)


def read_question(link: Source) -> Question:
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
