"""Finding what changed on a board, by names and marks alone: no file is read, and done work is not walked.

A folder is listed when its own time has moved. Files that the listing shows with a known inode, and all files
of a folder that has not moved, are looked at for changes in place: each time if they are not many, else one
share of them after the other. Open tasks and done ones take turns apart, so that done work does not delay
what is seen of the work that goes on.
"""

from __future__ import annotations

import os
import stat
import sys

from dibs.core.tasks.rules import ASSIGNED, DONE, INBOX, check_task_id
from dibs.core.text.names import check_agent_id, quote
from dibs.errors import BadInput
from dibs.startup.records import Record
from dibs.workdir.disk import TEMP_ENDING, TEMP_PREFIX, FileStamp, mark_of, status_of
from dibs.workdir.index import SHARE, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.workdir.disk import Folders
    from dibs.workdir.index import Index

ENDINGS = (".yaml", ".yml")
#: The largest file that is a task, in bytes.
MAX_FILE = 256 * 1024
#: So many open tasks are looked at each time, and so many done ones; of more done ones half as many.
WHOLE = 2 * SHARE
#: Seconds after which an unfinished file is no longer taken for one that is being written.
UNFINISHED = 60.0


class ChangedFile(Record):
    """A file that is new, or not as it was."""

    place: str
    name: str
    mark: FileStamp


class Odd(Record):
    """Something with a task's name that cannot be one."""

    place: str
    name: str
    mark: FileStamp
    code: str
    message: str


class Temp(Record):
    """An unfinished file: ours, or somebody's."""

    place: str
    name: str
    mark: FileStamp
    ours: bool


class BoardScan:
    """What one look at the board found."""

    def __init__(self) -> None:
        self.fresh: list[ChangedFile] = []
        self.gone: list[tuple[str, str]] = []
        self.odd: list[Odd] = []
        self.temps: list[Temp] = []
        #: Folders of agents that are there.
        self.agents: list[str] = []


def scan(folders: Folders, index: Index, now: float, *, thorough: bool = False) -> BoardScan:
    """Compare the board with the index; the index learns only when its folders were listed."""
    sight = BoardScan()
    active = [INBOX, *_agents(folders, index, sight)]
    whole = sys.maxsize if thorough else WHOLE
    due = _due(index, active, now, whole, whole) | _due(index, [DONE], now, whole, whole // 2)
    for place in (*active, DONE):
        try:
            with folders.open(place) as handle:
                _look(handle, place, index, sight, now, due.get(place, []), thorough=thorough)
        except FileNotFoundError:
            sight.gone += [(place, name) for name in index.folder(place).all()]
        except NotADirectoryError:
            code = "TASK_KIND"
            sight.odd.append(
                Odd(place, "", FileStamp(0, 0, 0, 0), code, f"{place} is not a real folder")
            )
    return sight


def _agents(folders: Folders, index: Index, sight: BoardScan) -> list[str]:
    """Return the places of all agents that have a folder, or had one."""
    found = {place for place in index.folders if place.startswith(f"{ASSIGNED}/")}
    try:
        with folders.open(ASSIGNED) as handle, os.scandir(handle) as entries:
            for entry in entries:
                place = f"{ASSIGNED}/{entry.name}"
                if entry.name.startswith("."):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    _stray(entry, sight)
                elif _is_agent(entry.name):
                    found.add(place)
                    sight.agents.append(entry.name)
                else:
                    mark = mark_of(entry.stat(follow_symlinks=False))
                    message = f"{quote(entry.name)} cannot be the id of an agent"
                    sight.odd.append(Odd(ASSIGNED, entry.name, mark, "AGENT_ID", message))
    except (FileNotFoundError, NotADirectoryError):
        pass
    return sorted(found)


def _stray(entry: os.DirEntry[str], sight: BoardScan) -> None:
    if entry.is_symlink() or entry.name.endswith(ENDINGS):
        kind = "TASK_KIND" if entry.is_symlink() else "TASK_MISMATCH"
        what = "is a link" if entry.is_symlink() else "belongs into the folder of an agent"
        mark = mark_of(entry.stat(follow_symlinks=False))
        sight.odd.append(Odd(ASSIGNED, entry.name, mark, kind, f"{quote(entry.name)} {what}"))


def _is_agent(name: str) -> bool:
    try:
        check_agent_id(name)
    except BadInput:
        return False
    return True


def _look(
    handle: int,
    place: str,
    index: Index,
    sight: BoardScan,
    now: float,
    due: list[int],
    *,
    thorough: bool,
) -> None:
    folder = index.folder(place)
    status = os.fstat(handle)
    if thorough or not folder.mtime or status.st_mtime_ns != folder.mtime:
        unsettled = _listed(handle, place, index, sight, due, status.st_dev)
        folder.mtime = 0 if unsettled or recent(status.st_mtime_ns, now) else status.st_mtime_ns
        return
    looked = [folder.share(share) for share in due]
    for files in looked:
        for name, raw in files.items():
            found = status_of(handle, name)
            if found is None:
                sight.gone.append((place, name))
            elif not _same(found, raw):
                _compare(place, name, found, raw, index, sight, status.st_dev)
    for path in [path for path in index.asides if path.rpartition("/")[0] == place]:
        name = path.rpartition("/")[2]
        found = status_of(handle, name)
        if found is not None and not any(name in files for files in looked):
            _compare(place, name, found, None, index, sight, status.st_dev)


def _same(status: os.stat_result, raw: list[Any]) -> bool:
    """Tell whether a file has the mark that is known of it; this is asked of very many."""
    return bool(
        raw[1] == status.st_ctime_ns
        and raw[0] == status.st_mtime_ns
        and raw[2] == status.st_size
        and raw[3] == status.st_ino
    )


def _due(
    index: Index, places: list[str], now: float, whole: int, part: int
) -> dict[str, list[int]]:
    """Return the shares of these folders whose files are looked at now: all, or a ``part`` of too many."""
    folders = index.folders
    shares = [(p, n) for p in places if p in folders for n in range(folders[p].shares)]
    if not shares:
        return {}
    sizes = [folders[place].size(number) for place, number in shares]
    first, left = 0, whole
    if sum(sizes) > whole:
        left = part
        first = index.turns.get(places[0], int(now * 1000)) % len(shares)
    due: dict[str, list[int]] = {}
    for turn in range(first, first + len(shares)):
        at = turn % len(shares)
        left -= sizes[at]
        if left < 0 and turn > first:
            break
        due.setdefault(shares[at][0], []).append(shares[at][1])
        index.turns[places[0]] = turn + 1
    return due


def _listed(
    handle: int, place: str, index: Index, sight: BoardScan, due: list[int], device: int
) -> bool:
    """Go through a folder; tell whether it holds something that is not finished."""
    folder = index.folder(place)
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
            if _passed_over(name):
                unsettled |= _unfinished(entry, place, sight)
                continue
            seen.add(name)
            _compare(place, name, entry.stat(follow_symlinks=False), raw, index, sight, device)
    sight.gone += [(place, name) for name in known if name not in seen]
    return unsettled


def _passed_over(name: str) -> bool:
    """Tell whether a name is not a task's: other files, temporary ones, an editor's lock."""
    meant = name.endswith(ENDINGS) or name.lower().endswith(ENDINGS)
    return not meant or name.startswith(".#")


def _unfinished(entry: os.DirEntry[str], place: str, sight: BoardScan) -> bool:
    if not entry.name.endswith(TEMP_ENDING) or not entry.is_file(follow_symlinks=False):
        return False
    ours = entry.name.startswith(TEMP_PREFIX)
    mark = mark_of(entry.stat(follow_symlinks=False))
    sight.temps.append(Temp(place, entry.name, mark, ours))
    return True


def _compare(
    place: str,
    name: str,
    status: os.stat_result,
    raw: list[Any] | None,
    index: Index,
    sight: BoardScan,
    device: int,
) -> None:
    mark = mark_of(status)
    if raw is not None and _same(status, raw):
        return
    aside = index.asides.get(f"{place}/{name}")
    if aside is not None and aside.mark == mark:
        return
    code, message = _oddity(name, status, device)
    if code:
        sight.odd.append(Odd(place, name, mark, code, message))
    else:
        sight.fresh.append(ChangedFile(place, name, mark))


def _oddity(name: str, status: os.stat_result, device: int) -> tuple[str, str]:
    """Return the code and the words for what cannot be a task's file, empty ones otherwise."""
    try:
        check_task_id(stem(name))
    except BadInput as error:
        return error.code, error.message
    if not name.endswith(ENDINGS):
        small = name[: name.rindex(".")] + name[name.rindex(".") :].lower()
        return "TASK_NAME", f"{quote(name)} is passed over: rename it to {quote(small)}"
    what = ""
    if not stat.S_ISREG(status.st_mode):
        what = f"is a {_kind(status.st_mode)}, not a plain file"
    elif status.st_nlink > 1:
        what = f"has {status.st_nlink} names (hard links)"
    elif not status.st_mode & 0o444:
        what = "can be read by nobody"
    elif status.st_dev != device:
        what = "lies on another device than its folder"
    elif status.st_size > MAX_FILE:
        return "LIMIT", f"{quote(name)} has {status.st_size} bytes; {MAX_FILE} are allowed"
    return ("TASK_KIND", f"{quote(name)} {what}") if what else ("", "")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "symbolic link", stat.S_IFDIR: "folder", stat.S_IFIFO: "FIFO"}
    return kinds.get(stat.S_IFMT(mode), "device or socket")


def stem(name: str) -> str:
    """Return a file's name without the ending of a task's file."""
    return name.removesuffix(".yaml") if name.endswith(".yaml") else name.removesuffix(".yml")
