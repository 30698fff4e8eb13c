"""Snapshots of a working tree at the start of a call, in small files of the clone's local state.

``marks/<agent>~<call>`` exists while a call runs, and with ``.ended`` until its changes are reported;
``marks/<agent>~own`` records the files that the agent's own calls wrote. Losing them only means that less is
detected. The start and the end of a session delete those of agents that have ended.
"""

from __future__ import annotations

import os
import time
from itertools import islice

from dibs.errors import DibsError
from dibs.local.files import checksum, read_file, tree_name, write_file
from dibs.local.own_writes import (
    is_as_left,
    note_written,
    read_written,
    replace_written,
    stat_of,
)
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.local.own_writes import Stat
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

#: A call that started longer ago than this, in seconds, has ended without a report.
_LONGEST_CALL = 3600.0
#: Records of an agent's own writes are discarded after this many seconds.
_FORGOTTEN = 86_400.0
_MOST_OWN = 1000
#: The end of the name of a record of own writes.
_OWN = "own"
#: The end of the name of an ended call's snapshot that was not compared yet.
ENDED = ".ended"
#: For how many agents it is remembered which files are not as they left them.
_MOST_ASKED = 200
#: How many files one sweep looks at, to keep it short.
_MOST_SWEPT = 2000
_FOLDER = "marks"
#: Starts the name of a stash among an agent's own writes.
STASH = "stash:"
#: Starts the name of a file's staged content among the copies of a call.
STAGED = "staged:"


class _suppress:  # noqa: N801 - like contextlib.suppress, which takes longer to import than an edit's check
    """Ignores errors of these kinds."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


class TreeSnapshot(Record):
    """The state of files when an agent's call started."""

    agent: str
    call: str
    at: float
    stats: dict[str, Stat]
    #: The digests of copies of uncommitted content.
    blobs: dict[str, str]
    #: Whether git could list the changed files.
    known: bool = True
    #: The authors of files that no agent holds and the agent did not make; empty for a person.
    others: dict[str, str] = {}  # noqa: RUF012 - a default of a record, never changed
    #: Mode and object of what is staged, but neither on disk nor committed.
    staged: dict[str, list[str]] = {}  # noqa: RUF012
    #: The files that a copy was saved of, because the command shows that it writes them.
    saved: tuple[str, ...] = ()
    #: The stashes that the agent did not make; None if unknown.
    stashes: tuple[str, ...] | None = None
    #: The patterns that the command shows it writes.
    named: tuple[str, ...] = ()
    #: The commit that was checked out.
    head: str = ""
    #: The branches and their commits.
    branches: dict[str, str] = {}  # noqa: RUF012
    #: When it was taken, by this machine's clock.
    began: float = 0.0


class TreeSnapshots:
    """The snapshots of one working tree."""

    def __init__(self, repository: Repository) -> None:
        self._root = repository.root
        #: Where they are.
        self.folder = os.path.join(repository.state, _FOLDER, tree_name(repository.root))

    def put(self, mark: TreeSnapshot) -> None:
        """Write a snapshot; replace one of the same call."""
        self._write(_name(mark.agent, mark.call), encode(list(mark)))

    def has(self, agent: str, call: str) -> bool:
        """Return whether there is a snapshot of a call."""
        return os.path.exists(os.path.join(self.folder, _name(agent, call)))

    def end(self, agent: str, call: str) -> None:
        """Note that a call has ended, before anything is compared: that may take too long."""
        path = os.path.join(self.folder, _name(agent, call))
        with _suppress(OSError):
            if os.path.exists(f"{path}{ENDED}"):  # it also shows what changed later
                os.unlink(path)
            else:
                os.rename(path, f"{path}{ENDED}")

    def left(self, agent: str) -> list[str]:
        """Return the names of an agent's snapshots, those of ended calls first."""
        with _suppress(OSError):
            names = [name for name in os.listdir(self.folder) if name.rpartition("~")[0] == agent]
            return sorted(
                (name for name in names if not name.endswith(f"~{_OWN}")),
                key=lambda name: not name.endswith(ENDED),
            )
        return []

    def read(self, name: str) -> TreeSnapshot | None:
        """Return a snapshot by its name; None if it is damaged."""
        found = self._read(name)
        if not isinstance(found, list) or len(found) != len(TreeSnapshot._fields):
            return None
        return TreeSnapshot(*found)

    def drop(self, name: str) -> None:
        """Delete a snapshot whose changes were reported."""
        with _suppress(OSError):
            os.unlink(os.path.join(self.folder, name))

    def running(self, besides: str = "") -> Iterator[str]:
        """Yield the agent of each running call that has a snapshot, ``besides`` one agent."""
        oldest = time.time() - _LONGEST_CALL
        with _suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                agent, _, call = entry.name.rpartition("~")
                ended = call == _OWN or call.endswith(ENDED)
                if agent not in {"", besides} and not ended and _mtime(entry) > oldest:
                    yield agent

    def note_own(self, agent: str, paths: Iterable[str], now: float) -> None:
        """Record the state of files that an agent's own call has just written."""
        note_written(self._own(agent), self._root, paths, now)

    def own(self, agent: str) -> dict[str, list[Any]]:
        """Return the files that an agent's own calls wrote: path to state, time, and checksums."""
        return read_written(self._own(agent))

    def moved(self, own: dict[str, list[Any]], paths: Iterable[str]) -> list[str]:
        """Return the files that an agent's ``own`` calls wrote and someone else has changed since."""
        return [p for p in paths if p in own and not is_as_left(self._root, p, own[p])]

    def by_others(self, agent: str) -> dict[str, list[tuple[str, Stat]]]:
        """Return the files that other agents' own calls wrote: path to agents and states."""
        found: dict[str, list[tuple[str, Stat]]] = {}
        try:
            names = os.listdir(self.folder)
        except OSError:
            return found
        for name in names:
            other, _, rest = name.rpartition("~")
            if rest == _OWN and other != agent:
                for path, noted in self.own(other).items():
                    found.setdefault(path, []).append((other, noted[0]))
        return found

    def is_moved(self, agent: str) -> bool:
        """Return whether a file is not as the agent's own calls left it."""
        return any(
            noted[0] is not None and stat_of(self._root, path) != noted[0]
            for path, noted in self.own(agent).items()
        )

    def is_news(self, agent: str, moved: Sequence[str]) -> bool:
        """Return whether files that are not as the agent left them changed since the last time it asked."""
        from zlib import crc32

        now = crc32(encode([[path, stat_of(self._root, path)] for path in moved]).encode())
        asked = self._table("moved")
        if asked.get(agent) == [now]:
            return False
        others = [(name, seen) for name, seen in asked.items() if name != agent]
        self._write("moved", encode({**dict(others[-_MOST_ASKED:]), agent: [now]}))
        return True

    def inherit(self, before: str, heir: str) -> None:
        """Let an agent have written what another one wrote whose claims it takes over."""
        noted = self.own(before)
        if noted:
            replace_written(self._own(heir), {**noted, **self.own(heir)})

    def pinned(self) -> list[str]:
        """Return the objects that a ref reaches for the sake of snapshots."""
        found = self._read("pinned")
        return found if isinstance(found, list) else []

    def pin(self, names: Sequence[str]) -> None:
        """Record the objects that a ref reaches."""
        self._write("pinned", encode(list(names)))

    def writers(self, paths: Sequence[str], besides: str = "") -> dict[str, str]:
        """Return the agents, ``besides`` one, whose own calls left these files exactly as they are now."""
        noted = self.by_others(besides)
        return {
            path: agent
            for path in paths
            for agent, left in noted.get(path, ())
            if left == stat_of(self._root, path)
        }

    def last_noted(self, agent: str) -> float:
        """Return the time of an agent's last recorded write; 0 for none."""
        return max((noted[1] for noted in self.own(agent).values()), default=0.0)

    def cached(self) -> dict[str, list[Any]]:
        """Return the copies made so far: path to stat and digest."""
        return self._table("copies")

    def cache(self, copies: dict[str, list[Any]]) -> None:
        """Store the copies made so far."""
        self._write("copies", encode(dict(list(copies.items())[-_MOST_OWN:])))

    def unchecked(self) -> dict[str, list[Any]]:
        """Return the files that git does not check, and the state of the index for which that is known."""
        return self._table("unchecked")

    def note_unchecked(self, known: dict[str, list[Any]]) -> None:
        """Store the files that git does not check."""
        self._write("unchecked", encode(known))

    def _own(self, agent: str) -> str:
        return os.path.join(self.folder, f"{agent}~{_OWN}")

    def _table(self, name: str) -> dict[str, list[Any]]:
        found = self._read(name)
        return found if isinstance(found, dict) else {}

    def _read(self, name: str) -> Any:
        try:
            return decode(
                read_file(os.path.join(self.folder, name)).decode("utf-8", "surrogateescape")
            )
        except (OSError, ValueError, DibsError):
            return None

    def _write(self, name: str, text: str) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        write_file(os.path.join(self.folder, name), text)


def sweep(store: Store, repository: Repository) -> None:
    """Delete what ended agents left, and what is outdated, in all working trees of a clone."""
    from dibs.local.last_read import forget_reads

    now = time.time()
    forget_reads(repository, now)
    entries = list(islice(_all_entries(os.path.join(repository.state, _FOLDER)), _MOST_SWEPT))
    agents = {entry.name.rpartition("~")[0] for entry in entries}
    if not agents:
        return
    ended = store.look(lambda rows: {agent for agent in agents if rows.beat(agent) is None})
    for entry in entries:
        agent, _, call = entry.name.rpartition("~")
        lasts = _FORGOTTEN if call == _OWN else _LONGEST_CALL
        if agent in ended:  # a call of another agent may have begun before its last write
            lasts = _LONGEST_CALL if call == _OWN else 0.0
        if _mtime(entry) <= now - lasts:
            with _suppress(OSError):
                os.unlink(entry.path)


def _all_entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the files that belong to an agent."""
    with _suppress(OSError), os.scandir(folder) as trees:
        for tree in trees:
            with _suppress(OSError), os.scandir(tree.path) as entries:
                yield from (entry for entry in entries if "~" in entry.name)


def _mtime(entry: os.DirEntry[str]) -> float:
    """Return when a file was written; 0 if it no longer exists."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _name(agent: str, call: str) -> str:
    return f"{agent}~{checksum(call.encode('utf-8', 'replace')):08x}"
