"""How a working tree lay when a call began, in small files of the clone's own state.

``marks/<agent>~<call>`` is there while a call runs; ``marks/<agent>~own`` says how the files lie that the
agent's own calls wrote. They are of this machine only, and may be lost: then less is found out.
"""

from __future__ import annotations

import contextlib
import os
import time
from zlib import crc32

from dibs.errors import DibsError
from dibs.local.files import write_file
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.local.repository import Repository

    #: When a file was changed, its size, its number, its mode, and when any of these was changed, which no
    #: program can set; None where there is no file.
    Stat = list[int] | None

#: A call that began so many seconds ago has ended, and its end was not heard.
_LONGEST_CALL = 3600.0
#: What an agent wrote so long ago says nothing of who writes now.
_FORGOTTEN = 86_400.0
_MOST_OWN = 1000
_FOLDER = "marks"


class TreeSnapshot(Record):
    """How files lay when a call of an agent began."""

    agent: str
    call: str
    at: float
    stats: dict[str, Stat]
    #: Content that only the disk had, by the name of the object that holds a copy of it.
    blobs: dict[str, str]
    #: Whether git could tell which files were changed.
    known: bool = True


def stat_of(root: str, path: str) -> Stat:
    """Return what tells one content of a file from another."""
    try:
        found = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_ctime_ns]


class TreeSnapshots:
    """The marks of one working tree."""

    def __init__(self, repository: Repository) -> None:
        self._root = repository.root
        tree = f"{crc32(os.fsencode(repository.root)):08x}"
        self._folder = os.path.join(repository.state, _FOLDER, tree)

    def put(self, mark: TreeSnapshot) -> None:
        """Write a mark; one of the same call is written over."""
        self._write(_name(mark.agent, mark.call), encode(list(mark)))

    def take(self, agent: str, call: str) -> TreeSnapshot | None:
        """Return the mark of a call and take it away, None where there is none."""
        return self._taken(_name(agent, call))

    def take_all(self, agent: str) -> list[TreeSnapshot]:
        """Return the marks of all calls of an agent whose end was not heard, and take them away."""
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(self._folder) if name.rpartition("~")[0] == agent]
            marks = [self._taken(name) for name in names if not name.endswith("~own")]
            return [mark for mark in marks if mark is not None]
        return []

    def _taken(self, name: str) -> TreeSnapshot | None:
        found = self._read(name)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._folder, name))
        if not isinstance(found, list) or len(found) != len(TreeSnapshot._fields):
            return None
        return TreeSnapshot(*found)

    def is_open(self, agent: str) -> bool:
        """Tell whether a call of an agent runs that made a mark."""
        return agent in self._open()

    def any_open(self, agent: str) -> bool:
        """Tell whether a call of anybody else runs."""
        return any(other != agent for other in self._open())

    def _open(self) -> set[str]:
        """Return the agents with a call that runs; forget calls whose end was not heard."""
        found: set[str] = set()
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                agent, _, rest = name.rpartition("~")
                if not agent:
                    continue
                path = os.path.join(self._folder, name)
                own = rest == "own"
                with contextlib.suppress(OSError):
                    age = time.time() - os.stat(path).st_mtime
                    if age > (_FORGOTTEN if own else _LONGEST_CALL):
                        os.unlink(path)
                    elif not own:
                        found.add(agent)
        return found

    def note_own(self, agent: str, paths: Iterable[str], now: float) -> None:
        """Note how files lie ``now`` that an agent's own call has written."""
        noted = {path: [stat_of(self._root, path), now] for path in paths}
        if not noted:
            return
        name = f"{agent}~own"
        merged = {**{p: v for p, v in self._table(name).items() if p not in noted}, **noted}
        self._write(name, encode(dict(list(merged.items())[-_MOST_OWN:])))

    def owned_by_others(self, agent: str, paths: Sequence[str]) -> set[str]:
        """Return those files that lie just as another agent's own call has left them."""
        found: set[str] = set()
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                if not name.endswith("~own") or name == f"{agent}~own":
                    continue
                noted = self._table(name)
                found |= {p for p in paths if p in noted and noted[p][0] == stat_of(self._root, p)}
        return found

    def last_noted(self, agent: str) -> float:
        """Return when an agent's own call last wrote something that is noted; 0 for never."""
        return max((at for _, at in self._table(f"{agent}~own").values()), default=0.0)

    def cached(self) -> dict[str, list[Any]]:
        """Return which copies of content were made already: path to its stat and its object."""
        return self._table("copies")

    def cache(self, copies: dict[str, list[Any]]) -> None:
        """Remember the copies that were made."""
        self._write("copies", encode(dict(list(copies.items())[-_MOST_OWN:])))

    def _table(self, name: str) -> dict[str, list[Any]]:
        found = self._read(name)
        return found if isinstance(found, dict) else {}

    def _read(self, name: str) -> Any:
        try:
            with open(
                os.path.join(self._folder, name), encoding="utf-8", errors="surrogateescape"
            ) as file:
                return decode(file.read())
        except (OSError, ValueError, DibsError):
            return None

    def _write(self, name: str, text: str) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_file(os.path.join(self._folder, name), text)


def _name(agent: str, call: str) -> str:
    return f"{agent}~{crc32(call.encode('utf-8', 'replace')):08x}"
