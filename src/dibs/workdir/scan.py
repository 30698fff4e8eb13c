"""Find what changed on a board by names and stamps, without reading files.

A folder is listed when its own timestamp has changed. Known files are also checked for changes in place:
all of them if there are not too many, else one chunk after another. Open and done tasks take turns
separately, so that done work does not delay noticing changes in open work.
"""

from __future__ import annotations

import os
import stat
import sys

from dibs.core.tasks.rules import ASSIGNED, DONE, INBOX, check_task_id
from dibs.core.text.names import check_agent_id, quote
from dibs.errors import BadInput
from dibs.startup.records import Record
from dibs.workdir.disk import TEMP_ENDING, FileStamp, mark_of, status_of
from dibs.workdir.index import SHARE, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.workdir.disk import Folders
    from dibs.workdir.index import Index

ENDINGS = (".yaml", ".yml")
#: The largest task file, in bytes.
MAX_FILE = 256 * 1024
#: How many open and done tasks are checked each time; half as many of the done ones if there are more.
WHOLE = 2 * SHARE
#: Seconds after which an unfinished file no longer counts as being written.
UNFINISHED = 60.0


class SeenFile(Record):
    """Something that a scan found: a changed file, one that cannot be a task, or an unfinished one."""

    place: str
    name: str
    mark: FileStamp
    #: Why it cannot be a task file, empty if it can.
    code: str = ""
    message: str = ""


class BoardScan:
    """The result of one scan; the index is updated only when folders are listed."""

    def __init__(self, folders: Folders, index: Index, now: float, *, thorough: bool) -> None:
        self._folders = folders
        self._index = index
        self._now = now
        self._thorough = thorough
        self.fresh: list[SeenFile] = []
        self.gone: list[tuple[str, str]] = []
        self.odd: list[SeenFile] = []
        #: Unfinished files, ours and others.
        self.temps: list[SeenFile] = []
        #: Agents that have a folder.
        self.agents: list[str] = []

    def run(self) -> BoardScan:
        """Compare the board with the index."""
        active = [INBOX, *self._agents()]
        whole = sys.maxsize if self._thorough else WHOLE
        due = self._due(active, whole, whole) | self._due([DONE], whole, whole // 2)
        for place in (*active, DONE):
            try:
                with self._folders.open(place) as handle:
                    self._look(handle, place, due.get(place, []))
            except FileNotFoundError:
                self.gone += [(place, name) for name in self._index.folder(place).all()]
            except NotADirectoryError:
                nothing = FileStamp(0, 0, 0, 0)
                message = f"{place} is not a real folder"
                self.odd.append(SeenFile(place, "", nothing, "TASK_KIND", message))
        return self

    def _agents(self) -> list[str]:
        """Return the places of all agents that have or had a folder."""
        found = {place for place in self._index.folders if place.startswith(f"{ASSIGNED}/")}
        try:
            with self._folders.open(ASSIGNED) as handle, os.scandir(handle) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    code, what = _misplaced(entry)
                    if code:
                        mark = mark_of(entry.stat(follow_symlinks=False))
                        message = f"{quote(entry.name)} {what}"
                        self.odd.append(SeenFile(ASSIGNED, entry.name, mark, code, message))
                    elif entry.is_dir(follow_symlinks=False):
                        found.add(f"{ASSIGNED}/{entry.name}")
                        self.agents.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            pass
        return sorted(found)

    def _due(self, places: list[str], whole: int, part: int) -> dict[str, list[int]]:
        """Return the chunks of these folders to check now: all, or a ``part`` of too many files."""
        folders, turns = self._index.folders, self._index.turns
        shares = [(p, n) for p in places if p in folders for n in range(folders[p].shares)]
        if not shares:
            return {}
        sizes = [folders[place].size(number) for place, number in shares]
        first, left = 0, whole
        if sum(sizes) > whole:
            left = part
            first = turns.get(places[0], int(self._now * 1000)) % len(shares)
        due: dict[str, list[int]] = {}
        for turn in range(first, first + len(shares)):
            at = turn % len(shares)
            left -= sizes[at]
            if left < 0 and turn > first:
                break
            due.setdefault(shares[at][0], []).append(shares[at][1])
            turns[places[0]] = turn + 1
        return due

    def _look(self, handle: int, place: str, due: list[int]) -> None:
        folder = self._index.folder(place)
        status = os.fstat(handle)
        if self._thorough or not folder.mtime or status.st_mtime_ns != folder.mtime:
            unsettled = self._list(handle, place, due, status.st_dev)
            moved = unsettled or recent(status.st_mtime_ns, self._now)
            folder.mtime = 0 if moved else status.st_mtime_ns
            return
        looked = [folder.share(share) for share in due]
        for files in looked:
            for name, raw in files.items():
                found = status_of(handle, name)
                if found is None:
                    self.gone.append((place, name))
                elif not _same(found, raw):
                    self._compare(place, name, found, status.st_dev)
        for path in [path for path in self._index.asides if path.rpartition("/")[0] == place]:
            name = path.rpartition("/")[2]
            found = status_of(handle, name)
            if found is not None and not any(name in files for files in looked):
                self._compare(place, name, found, status.st_dev)

    def _list(self, handle: int, place: str, due: list[int], device: int) -> bool:
        """Check a folder; tell whether it contains unfinished files."""
        folder = self._index.folder(place)
        looked = {name for share in due for name in folder.share(share)}
        known, unsettled = folder.all(), False
        seen: set[str] = set()
        with os.scandir(handle) as entries:
            for entry in entries:
                name = entry.name
                raw = known.get(name)
                if raw and raw[3] == entry.inode() and raw[2] >= 0 and name not in looked:
                    seen.add(name)
                    continue
                if _is_ignored(name):
                    unsettled |= self._unfinished(entry, place)
                    continue
                seen.add(name)
                status = entry.stat(follow_symlinks=False)
                if raw is None or not _same(status, raw):
                    self._compare(place, name, status, device)
        self.gone += [(place, name) for name in known if name not in seen]
        return unsettled

    def _unfinished(self, entry: os.DirEntry[str], place: str) -> bool:
        if not entry.name.endswith(TEMP_ENDING) or not entry.is_file(follow_symlinks=False):
            return False
        mark = mark_of(entry.stat(follow_symlinks=False))
        self.temps.append(SeenFile(place, entry.name, mark))
        return True

    def _compare(self, place: str, name: str, status: os.stat_result, device: int) -> None:
        """Record a file that differs from the index, unless it is set aside unchanged."""
        mark = mark_of(status)
        aside = self._index.asides.get(f"{place}/{name}")
        if aside is not None and aside.mark == mark:
            return
        code, message = oddity(name, status, device)
        found = self.odd if code else self.fresh
        found.append(SeenFile(place, name, mark, code, message))


def scan(folders: Folders, index: Index, now: float, *, thorough: bool = False) -> BoardScan:
    """Compare the board with the index."""
    with folders.kept_open():
        return BoardScan(folders, index, now, thorough=thorough).run()


def _misplaced(entry: os.DirEntry[str]) -> tuple[str, str]:
    """Return the code and message for an entry that does not belong among the agents' folders."""
    if entry.is_dir(follow_symlinks=False):
        try:
            check_agent_id(entry.name)
        except BadInput:
            return "AGENT_ID", "is not a valid agent id"
    elif entry.is_symlink():
        return "TASK_KIND", "is a link"
    elif entry.name.endswith(ENDINGS):
        return "TASK_MISMATCH", "belongs in an agent's folder"
    return "", ""


def _same(status: os.stat_result, raw: list[Any]) -> bool:
    """Return whether a file matches its known stamp; called for very many files."""
    return bool(
        raw[1] == status.st_ctime_ns
        and raw[0] == status.st_mtime_ns
        and raw[2] == status.st_size
        and raw[3] == status.st_ino
    )


def _is_ignored(name: str) -> bool:
    """Return whether a name is not a task file's: other files, temporary files, an editor's lock."""
    return not name.lower().endswith(ENDINGS) or name.startswith(".#")


def oddity(name: str, status: os.stat_result, device: int) -> tuple[str, str]:
    """Return the code and message for a file that cannot be a task, empty if it can."""
    try:
        check_task_id(stem(name))
    except BadInput as error:
        return error.code, error.message
    if not name.endswith(ENDINGS):
        small = name[: name.rindex(".")] + name[name.rindex(".") :].lower()
        return "TASK_NAME", f"{quote(name)} is ignored: rename it to {quote(small)}"
    what = ""
    if not stat.S_ISREG(status.st_mode):
        what = f"is a {_kind(status.st_mode)}, not a regular file"
    elif status.st_nlink > 1:
        what = f"has {status.st_nlink} hard links"
    elif not status.st_mode & 0o444:
        what = "is not readable"
    elif status.st_dev != device:
        what = "is on another device than its folder"
    elif status.st_size > MAX_FILE:
        return "LIMIT", f"{quote(name)} has {status.st_size} bytes; at most {MAX_FILE} are allowed"
    return ("TASK_KIND", f"{quote(name)} {what}") if what else ("", "")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "symbolic link", stat.S_IFDIR: "folder", stat.S_IFIFO: "FIFO"}
    return kinds.get(stat.S_IFMT(mode), "device or socket")


def stem(name: str) -> str:
    """Return the name of a task file without its ending."""
    return name.removesuffix(".yaml") if name.endswith(".yaml") else name.removesuffix(".yml")
