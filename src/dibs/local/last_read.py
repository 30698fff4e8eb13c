"""Which commit was checked out when an agent last read a file, in small files of the clone's local state.

``seen/<tree>/<agent>`` has one record for each read, in order, each ending in NUL: ``commit path``, or
``old>new`` for a commit of the agent's own. The path ``START`` has the commit at which the agent's session
started: it has read no file later that is missing here. Losing it only means that less is detected.
"""

# On the path of hooks: import only built-in modules.

from __future__ import annotations

import contextlib
import os

from dibs.local.files import append_file, read_or_empty, tree_name, write_file
from dibs.local.loose_objects import head_commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.local.repository import Repository

_FOLDER = "seen"
#: The path of a record for all files that have none.
START = ""
#: Above this size in bytes, only the last record of each path stays, and of these the newest.
_LARGE, _MOST = 256 * 1024, 1000
#: Records are deleted this many seconds after the last one was written.
_FORGOTTEN = 7 * 86_400.0


def note_read(repository: Repository, agent: str, paths: Iterable[str], commit: str = "") -> None:
    """Record that an agent has read files as they are in the commit that is checked out."""
    commit = commit or head_commit(repository.root, repository.common)
    records = [f"{commit} {path}" for path in paths]
    if commit and records:
        _append(_place(repository, agent), records)


def note_start(repository: Repository, agent: str) -> None:
    """Record the commit at which an agent's session started, unless that is known."""
    if START not in last_read(repository, agent):
        note_read(repository, agent, [START])


def note_commit(repository: Repository, agent: str, old: str, new: str) -> None:
    """Record a commit by the agent itself: it knows what it changed."""
    place = _place(repository, agent)
    if os.path.exists(place):
        _append(place, [f"{old}>{new}"])


def last_read(repository: Repository, agent: str) -> dict[str, str]:
    """Return for each path that an agent has read the commit that was checked out."""
    return _table(_place(repository, agent))


def _table(place: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in os.fsdecode(read_or_empty(place)).split("\0")[:-1]:
        commit, space, path = record.partition(" ")
        if space:
            found.pop(path, None)  # so that the newest come last
            found[path] = commit
            continue
        old, _, new = record.partition(">")
        found.update((path, new) for path, seen in list(found.items()) if seen == old)
    return found


def forget_reads(repository: Repository, now: float) -> None:
    """Delete the records of agents that have read nothing for a long time, in all working trees."""
    top = os.path.join(repository.state, _FOLDER)
    with contextlib.suppress(OSError):
        for tree in os.listdir(top):
            for agent in os.listdir(os.path.join(top, tree)):
                place = os.path.join(top, tree, agent)
                if os.stat(place).st_mtime < now - _FORGOTTEN:
                    os.unlink(place)


def _place(repository: Repository, agent: str) -> str:
    return os.path.join(repository.state, _FOLDER, tree_name(repository.root), agent)


def _append(place: str, records: Iterable[str]) -> None:
    """Add records; a full disk only means that less is detected."""
    with contextlib.suppress(OSError):
        if append_file(place, _joined(records)) > _LARGE:
            table = _table(place)
            first = {START: table[START]} if START in table else {}
            newest = {**first, **dict(list(table.items())[-_MOST:])}
            write_file(place, _joined(f"{commit} {path}" for path, commit in newest.items()))


def _joined(records: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(record) + b"\0" for record in records)
