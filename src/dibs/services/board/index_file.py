"""The file that contains what this machine knows about a board's files, read again when it has changed."""

from __future__ import annotations

import os

from dibs.services.state.tasks import digest
from dibs.workdir import index as indexes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.workdir.disk import Folders

#: In the state folder.
INDEX = "board-index.jsonl"


class IndexFile:
    """The index of the board in ``folders``, kept in the folder ``state``."""

    def __init__(self, folders: Folders, state: str, clock: Callable[[], float]) -> None:
        self._path = os.path.join(state, _index_name(folders.base, state))
        self._folders = folders
        self._clock = clock
        self._index: indexes.Index | None = None
        self._stamp: tuple[int, int] = (0, 0)

    @property
    def mtime(self) -> int:
        """When it was last written, as far as this process knows; 0 if never."""
        return self._stamp[1]

    def load(self) -> indexes.Index:
        """Return the index, cached until another process writes it."""
        stamp = _stamp(self._path)
        if self._index is None or stamp != self._stamp:
            self._index, self._stamp = indexes.load(self._path), stamp
        return self._index

    def save(self) -> None:
        """Write the index if it has changed."""
        if self._index is None or not self._index.differs:
            return
        self._folders.disk.reach("save", self._path)
        indexes.save(self._index, self._path, self._clock())
        self._stamp = _stamp(self._path)

    def forget(self) -> None:
        """Drop the index in memory, with its changes."""
        self._index = None


def _index_name(base: str, state: str) -> str:
    """Return the name of the index; working trees that share a state but not a board have their own."""
    if os.path.commonpath((base, state)) == base:
        return INDEX
    stem, ending = os.path.splitext(INDEX)
    return f"{stem}-{digest(base)[:8]}{ending}"


def _stamp(path: str) -> tuple[int, int]:
    """Return values that change whenever a file changes, zeros if it does not exist."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (status.st_ino, status.st_mtime_ns)
