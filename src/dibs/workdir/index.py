"""What this machine knows of a board's files, so that an unchanged board is not read again.

For each folder: when it last changed, and of each file its mark, the version of the row that it shows and the
digest of its text. The first line of the index file is about the whole; each further line is a share of one
folder's files and is decoded when it is needed. Losing the index loses nothing: every file is then compared
with its row by content.
"""

from __future__ import annotations

import json
from contextlib import suppress

from dibs.local.files import write_file
from dibs.startup.records import Record
from dibs.workdir.disk import FileStamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 1
#: How many files stand in one line of the index.
SHARE = 500
#: How long file systems may give out the same time (ns): those that count fine, those that count seconds.
_TICK, _SECOND = 50_000_000, 2_000_000_000


class FileRecord(Record):
    """What is known of one file."""

    mark: FileStamp
    #: Which change of the task it shows.
    version: int
    digest: str


class Aside(Record):
    """A file that cannot be taken onto the board, and why."""

    mark: FileStamp
    #: The version of its row when it was refused.
    version: int
    code: str
    message: str
    line: int
    field: str
    #: When it was first refused, seconds since 1970.
    since: float


class FolderIndex:
    """The files of one folder."""

    def __init__(self, mtime: int = 0, texts: list[str] | None = None) -> None:
        #: When the folder itself last changed, 0 if it must be looked through.
        self.mtime = mtime
        # Each share as text, unless that is out of date, and decoded, if it was needed: what does not change
        # is neither decoded nor encoded by the commands that follow each other.
        self._texts: list[str | None] = [*(texts or [])]
        self._shares: list[dict[str, list[Any]] | None] = [None] * len(self._texts)
        self._noted: set[str] = set()
        #: Whether an entry is not as it was read.
        self.touched = False

    def share(self, place: int) -> dict[str, list[Any]]:
        """Return one share, decoded."""
        found = self._shares[place]
        if found is None:
            found = self._shares[place] = json.loads(self._texts[place] or "{}")
        return found

    @property
    def shares(self) -> int:
        """How many shares there are."""
        return len(self._shares)

    def size(self, place: int) -> int:
        """Return how many files a share holds, without decoding it."""
        share = self._shares[place]
        return len(share) if share is not None else (self._texts[place] or "").count('":[')

    def _of(self, name: str) -> int:
        """Return the share that a file stands in, -1 if it stands in none."""
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
        """Return a share that is about to be changed."""
        share = self.share(place)
        self._texts[place] = None
        return share

    def get(self, name: str) -> FileRecord | None:
        """Return what is known of the file ``name``."""
        place = self._of(name)
        return None if place < 0 else entry_of(self.share(place)[name])

    def put(self, name: str, entry: FileRecord) -> None:
        """Note what a file is."""
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
        """Return the raw entries of all files by their name."""
        found: dict[str, list[Any]] = {}
        for place in range(len(self._shares)):
            found.update(self.share(place))
        return found

    def blur(self, now: float) -> None:
        """Forget the size of files that a change could leave with the same time: they are read again."""
        for name in self._noted:
            place = self._of(name)
            if place >= 0 and recent(self.share(place)[name][1], now):
                self._changing(place)[name][2] = -1
        self._noted.clear()

    def rows(self) -> Iterator[str]:
        """Yield the shares as they are written; an empty one is left out."""
        for place, share in enumerate(self._shares):
            text = self._texts[place]
            if text is None and share:
                text = self._texts[place] = json.dumps(share, separators=(",", ":"))
            if text:
                yield text


def recent(time: int, now: float) -> bool:
    """Tell whether a change right now could leave the same time behind."""
    return now * 1e9 - time < (_TICK if time % 1_000_000_000 else _SECOND)


def entry_of(raw: list[Any]) -> FileRecord:
    """Return an entry from its stored form."""
    return FileRecord(FileStamp(*raw[:4]), raw[4], raw[5])


class Index:
    """The index of a board."""

    def __init__(self) -> None:
        #: The number of the last change of the board that its files show.
        self.head = -1
        #: The life of the board that this number is of, empty if that is not known.
        self.life = ""
        self.folders: dict[str, FolderIndex] = {}
        #: By path.
        self.asides: dict[str, Aside] = {}
        #: Ids of tasks whose file could not be brought in line yet.
        self.behind: set[str] = set()
        #: Which share of a large board is looked at next, by group; any process may begin with any.
        self.turns: dict[str, int] = {}

        self._saved: tuple[Any, ...] = ()

    def saved(self) -> None:
        """Note that the file holds all of this."""
        self._saved = self._state()
        for folder in self.folders.values():
            folder.touched = False

    @property
    def differs(self) -> bool:
        """Whether there is something to be saved."""
        touched = any(folder.touched for folder in self.folders.values())
        return touched or self._saved != self._state()

    def _state(self) -> tuple[Any, ...]:
        times = {place: folder.mtime for place, folder in self.folders.items()}
        return (self.head, dict(self.asides), set(self.behind), times, self.life)

    def folder(self, place: str) -> FolderIndex:
        """Return what is known of a folder, nothing if it is new."""
        found = self.folders.get(place)
        if found is None:
            found = self.folders[place] = FolderIndex()
        return found

    def find(self, name: str) -> list[str]:
        """Return the folders in which a file of this name is known."""
        return [place for place, folder in self.folders.items() if folder.get(name)]

    def versions(self) -> dict[str, int]:
        """Return the version of each known file by its name."""
        return {
            name: raw[4] for folder in self.folders.values() for name, raw in folder.all().items()
        }

    def drop(self, place: str, name: str) -> None:
        """Forget a file."""
        if place in self.folders:
            self.folders[place].drop(name)
        self.asides.pop(f"{place}/{name}", None)


def load(path: str) -> Index:
    """Return the index that lies at ``path``, an empty one if there is none that can be read."""
    try:
        with open(path, encoding="ascii") as file:
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
    """Write the index aside and rename it; it need not survive a power cut.

    Where that is not possible (the disk is full), the old one stays: it costs a comparison, not a command.
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
