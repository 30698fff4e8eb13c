"""What this machine knows about a board's files, so that an unchanged board is not read again.

For each folder: when it last changed, and for each file its stamp, the version of the row that it shows, and
the digest of its text. The first line of the index file is about the board; each other line is a chunk of
one folder's files, decoded when needed. Losing the index loses nothing: every file is then compared with its
row by content.
"""

from __future__ import annotations

import json
from contextlib import suppress

from dibs.local.files import regular, write_file
from dibs.startup.records import Record
from dibs.workdir.disk import FileStamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 1
#: How many files one line of the index contains.
SHARE = 500
#: How long file systems may repeat a timestamp (ns): fine-grained ones, and those that count seconds.
_TICK, _SECOND = 50_000_000, 2_000_000_000


class FileRecord(Record):
    """What is known about one file."""

    mark: FileStamp
    #: The version of the task that it shows.
    version: int
    digest: str


class Aside(Record):
    """A file that is set aside, and why."""

    mark: FileStamp
    #: The version of its row when it was refused.
    version: int
    code: str
    message: str
    line: int
    field: str
    #: When it was first refused, in seconds since 1970.
    since: float


class FolderIndex:
    """The files of one folder."""

    def __init__(self, mtime: int = 0, texts: list[str] | None = None) -> None:
        #: When the folder itself last changed, 0 if it must be listed.
        self.mtime = mtime
        # Each chunk as text, unless outdated, and decoded, if it was needed: unchanged chunks are neither
        # decoded nor encoded by consecutive commands.
        self._texts: list[str | None] = [*(texts or [])]
        self._shares: list[dict[str, list[Any]] | None] = [None] * len(self._texts)
        self._noted: set[str] = set()
        #: Whether an entry differs from what was loaded.
        self.touched = False

    def share(self, place: int) -> dict[str, list[Any]]:
        """Return one chunk, decoded."""
        found = self._shares[place]
        if found is None:
            found = self._shares[place] = json.loads(self._texts[place] or "{}")
        return found

    @property
    def shares(self) -> int:
        """The number of chunks."""
        return len(self._shares)

    def size(self, place: int) -> int:
        """Return how many files a chunk contains, without decoding it."""
        share = self._shares[place]
        return len(share) if share is not None else (self._texts[place] or "").count('":[')

    def _of(self, name: str) -> int:
        """Return the chunk that contains a file, -1 if none does."""
        quoted = ""
        for place, share in enumerate(self._shares):
            if share is None:
                quoted = quoted or json.dumps(name)
                if quoted in (self._texts[place] or "") and name in self.share(place):
                    return place
            elif name in share:
                return place
        return -1

    def _changing(self, place: int) -> dict[str, list[Any]]:
        """Return a chunk that is about to change."""
        share = self.share(place)
        self._texts[place] = None
        return share

    def get(self, name: str) -> FileRecord | None:
        """Return what is known about the file ``name``."""
        place = self._of(name)
        return None if place < 0 else entry_of(self.share(place)[name])

    def put(self, name: str, entry: FileRecord) -> None:
        """Record a file."""
        place = self._of(name)
        if place < 0:
            if not self._shares or self.size(-1) >= SHARE:
                self._shares.append({})
                self._texts.append(None)
            place = len(self._shares) - 1
        self._changing(place)[name] = [*entry.mark, entry.version, entry.digest]
        self._noted.add(name)
        self.touched = True

    def drop(self, name: str) -> None:
        """Forget a file."""
        place = self._of(name)
        if place >= 0:
            del self._changing(place)[name]
            self.touched = True

    def all(self) -> dict[str, list[Any]]:
        """Return the raw entries of all files by name."""
        found: dict[str, list[Any]] = {}
        for place in range(len(self._shares)):
            found.update(self.share(place))
        return found

    def blur(self, now: float) -> None:
        """Forget the sizes of files that could change without a new timestamp, to read them again."""
        for name in self._noted:
            place = self._of(name)
            if place >= 0 and recent(self.share(place)[name][1], now):
                self._changing(place)[name][2] = -1
        self._noted.clear()

    def rows(self) -> Iterator[str]:
        """Yield the chunks as they are written, without empty ones."""
        for place, share in enumerate(self._shares):
            text = self._texts[place]
            if text is None and share:
                text = self._texts[place] = json.dumps(share, separators=(",", ":"))
            if text:
                yield text


def recent(time: int, now: float) -> bool:
    """Return whether a change right now could leave the same timestamp."""
    return now * 1e9 - time < (_TICK if time % 1_000_000_000 else _SECOND)


def entry_of(raw: list[Any]) -> FileRecord:
    """Return an entry from its stored form."""
    return FileRecord(FileStamp(*raw[:4]), raw[4], raw[5])


class Index:
    """The index of a board."""

    def __init__(self) -> None:
        #: The number of the last change to the board that its files show.
        self.head = -1
        #: The board's life that this number belongs to, empty if unknown.
        self.life = ""
        self.folders: dict[str, FolderIndex] = {}
        #: Files that are set aside, by path.
        self.asides: dict[str, Aside] = {}
        #: Ids of tasks whose files could not be written yet.
        self.behind: set[str] = set()
        #: The next chunk of a large board to check, by group; any process may begin with any.
        self.turns: dict[str, int] = {}

        self._saved: tuple[Any, ...] = ()

    def saved(self) -> None:
        """Record that all of this is saved."""
        self._saved = self._state()
        for folder in self.folders.values():
            folder.touched = False

    @property
    def differs(self) -> bool:
        """Whether there is something to save."""
        touched = any(folder.touched for folder in self.folders.values())
        return touched or self._saved != self._state()

    def _state(self) -> tuple[Any, ...]:
        times = {place: folder.mtime for place, folder in self.folders.items()}
        return (self.head, dict(self.asides), set(self.behind), times, self.life)

    def folder(self, place: str) -> FolderIndex:
        """Return what is known about a folder, empty if it is new."""
        found = self.folders.get(place)
        if found is None:
            found = self.folders[place] = FolderIndex()
        return found

    def find(self, name: str) -> list[str]:
        """Return the folders that are known to contain a file of this name."""
        return [place for place, folder in self.folders.items() if folder.get(name)]

    def versions(self) -> dict[str, int]:
        """Return the version of each known file by name."""
        return {
            name: raw[4] for folder in self.folders.values() for name, raw in folder.all().items()
        }

    def drop(self, place: str, name: str) -> None:
        """Forget a file."""
        if place in self.folders:
            self.folders[place].drop(name)
        self.asides.pop(f"{place}/{name}", None)


def load(path: str) -> Index:
    """Return the index stored at ``path``, an empty one if it is missing or unreadable."""
    try:
        with open(path, encoding="ascii", opener=regular) as file:
            lines = file.read().split("\n")
        return _decoded(lines)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return Index()


def _decoded(lines: list[str]) -> Index:
    top = json.loads(lines[0])
    if top["format"] != FORMAT or lines[-1] or len(lines) != top["lines"] + 2:
        return Index()
    index, at = Index(), 1
    index.head, index.life = int(top["head"]), str(top.get("life", ""))
    index.behind = set(top["behind"])
    for path, (mark, *rest) in top["asides"].items():
        index.asides[path] = Aside(FileStamp(*mark), *rest)
    for place, mtime, count in top["folders"]:
        index.folders[place] = FolderIndex(mtime, lines[at : at + count])
        at += count
    index.saved()
    return index


def save(index: Index, path: str, now: float) -> None:
    """Write the index to a temporary file and rename it; it need not survive a power failure.

    If that fails (a full disk), the old one stays, which only costs comparisons.
    """
    body: list[str] = []
    folders = []
    for place, folder in index.folders.items():
        folder.blur(now)
        rows = list(folder.rows())
        folders.append([place, folder.mtime, len(rows)])
        body += rows
    asides = {path: [list(aside.mark), *aside[1:]] for path, aside in index.asides.items()}
    top = {"format": FORMAT, "head": index.head, "lines": len(body), "asides": asides}
    top |= {"life": index.life, "folders": folders, "behind": sorted(index.behind)}
    text = "\n".join([json.dumps(top), *body, ""])
    with suppress(OSError):
        write_file(path, text)
        index.saved()
