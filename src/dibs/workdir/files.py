"""The files of one board: brought in line, set aside, kept; the index always says what was done."""

from __future__ import annotations

import errno
import os

from dibs.core.tasks.rules import ARCHIVE
from dibs.core.text.names import quote
from dibs.errors import Unavailable
from dibs.startup.records import Record
from dibs.workdir import moves
from dibs.workdir.batch import SIZE, FileBatch, FileJob
from dibs.workdir.disk import Disk, FileStamp, Folders, mark_of, read, status_of
from dibs.workdir.folders import COLLABORATION
from dibs.workdir.index import Aside, FileRecord, Index
from dibs.workdir.scan import ENDINGS, MAX_FILE, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Where a hand-made text goes that cannot be taken in and cannot stay.
KEPT = f"{COLLABORATION}/set-aside"
#: What is said where a file cannot show what its row has.
DECIDED = "what was decided is kept; the next board command brings the file in line"


class TaskFileCopy(Record):
    """A file that shows a task."""

    place: str
    name: str
    mark: FileStamp
    digest: str
    #: What it says, if it was read.
    content: bytes | None = None
    #: Which change of the task it was written from, 0 if that is not known.
    base: int = 0
    #: Whether it is as it was when it showed that change.
    written: bool = False

    @property
    def path(self) -> str:
        """Where it lies, below the board's folder."""
        return f"{self.place}/{self.name}"


class TaskFileTarget(Record):
    """How and where a task's file shall be."""

    place: str
    name: str
    text: str
    digest: str
    version: int

    @property
    def path(self) -> str:
        """Where it shall lie, below the board's folder."""
        return f"{self.place}/{self.name}"


class Files:
    """The files of a board and what is known of them."""

    def __init__(
        self, folders: Folders, index: Index, digest: Callable[[bytes], str], now: float
    ) -> None:
        self.folders = folders
        self.index = index
        self.digest = digest
        #: The moment of this command, by the clock that files are stamped with.
        self.now = now

    @property
    def disk(self) -> Disk:
        """What changes files."""
        return self.folders.disk

    def read(self, place: str, name: str) -> TaskFileCopy | None:
        """Return a file with its content, nothing if it is not there or cannot be read."""
        try:
            with self.folders.open(place) as handle:
                content, mark = read(handle, name, MAX_FILE)
        except OSError as error:
            if isinstance(error, PermissionError):
                unread = TaskFileCopy(place, name, FileStamp(0, 0, 0, 0), "")
                self.set_aside(
                    unread, -1, "TASK_KIND", f"{quote(name)} cannot be read by this user"
                )
            return None
        known = self.index.folder(place).get(name) if not place.startswith(ARCHIVE) else None
        copy = TaskFileCopy(place, name, mark, self.digest(content), content)
        if known is None:
            return copy
        return copy._replace(base=known.version, written=known.digest == copy.digest)

    def archived(self) -> list[tuple[str, str]]:
        """Return place and name of each file in the archive, month by month."""
        return [
            (place, name)
            for place in self._months()
            for name in self.names(place)
            if name.endswith(ENDINGS) and not name.startswith(".")
        ]

    def in_archive(self, name: str) -> list[TaskFileCopy]:
        """Return the files of this name in the archive."""
        found = [self.read(place, name) for place in self._months() if self.is_there(place, name)]
        return [copy for copy in found if copy is not None]

    def _months(self) -> list[str]:
        return [f"{ARCHIVE}/{month}" for month in self.names(ARCHIVE)]

    def names(self, place: str) -> list[str]:
        """Return what a folder holds, in order; nothing if it is not there."""
        try:
            with self.folders.open(place) as handle:
                return sorted(os.listdir(handle))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def known(self, place: str, name: str) -> TaskFileCopy | None:
        """Return a file as the index has it, read again if it is not so any more."""
        entry, status = self.index.folder(place).get(name), self._status(place, name)
        if entry is None or status is None:
            return None
        if mark_of(status) == entry.mark:
            return TaskFileCopy(
                place, name, entry.mark, entry.digest, None, entry.version, written=True
            )
        return self.read(place, name)

    def is_there(self, place: str, name: str) -> bool:
        """Tell whether there is something of this name."""
        return self._status(place, name) is not None

    def _status(self, place: str, name: str) -> os.stat_result | None:
        try:
            with self.folders.open(place) as handle:
                return status_of(handle, name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def note(self, copy: TaskFileCopy, version: int) -> None:
        """Note that a file shows this version of its task."""
        if not copy.place.startswith(ARCHIVE):
            self.index.folder(copy.place).put(
                copy.name, FileRecord(copy.mark, version, copy.digest)
            )
        self.index.asides.pop(copy.path, None)

    def write(self, jobs: Sequence[FileJob]) -> None:
        """Write and move files; each job knows then whether that worked, and else the file is left alone."""
        for start in range(0, len(jobs), SIZE):
            FileBatch(self.folders, jobs[start : start + SIZE]).run()
        for job in jobs:
            if job.ok:
                self._brought(job)
            elif job.error is not None:
                self._refused(job.copy, job.target, job.error)

    def _brought(self, job: FileJob) -> None:
        copy, target = job.copy, job.target
        assert job.mark is not None
        if copy is not None and copy.path != target.path:
            self.index.drop(copy.place, copy.name)
        if not target.place.startswith(ARCHIVE):
            entry = FileRecord(job.mark, target.version, target.digest)
            self.index.folder(target.place).put(target.name, entry)
        self.index.asides.pop(target.path, None)

    def _refused(self, copy: TaskFileCopy | None, target: TaskFileTarget, error: OSError) -> None:
        """Set aside what the disk will not have there; a disk that is full or broken stops the command."""
        if error.errno not in {errno.EXDEV, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}:
            raise _unavailable(error, target.path) from error
        if error.errno == errno.EXDEV:
            message = f"{quote(target.place)} lies on another device: the file is not copied there"
        else:
            message = f"{quote(target.path)} cannot be written: {error.strerror}"
        where = copy or TaskFileCopy(target.place, target.name, FileStamp(0, 0, 0, 0), "")
        self.set_aside(where, target.version, "TASK_KIND", message)

    def set_aside(
        self,
        copy: TaskFileCopy,
        version: int,
        code: str,
        message: str,
        line: int = 0,
        field: str = "",
    ) -> None:
        """Leave a file where it is and note why it is not taken in."""
        before = self.index.asides.get(copy.path)
        same = before is not None and (before.code, before.message) == (code, message)
        since = before.since if before is not None and same else self.now
        self.index.asides[copy.path] = Aside(copy.mark, version, code, message, line, field, since)

    def keep(self, copy: TaskFileCopy) -> str:
        """Move a hand-made file out of the way, to where it stays; return its new place."""
        name = f"{stem(copy.name)}.{copy.digest[:8]}.yaml"
        with self.folders.open(KEPT, make=True) as handle:
            there = status_of(handle, name) is not None
        if there:  # the same text is kept already
            self.remove(copy)
        else:
            moves.move(self.folders, (copy.place, copy.name), (KEPT, name), copy.mark)
            self.index.drop(copy.place, copy.name)
        return f"{KEPT}/{name}"

    def keep_text(self, name: str, text: str, digest: str) -> str:
        """Keep a text that a file had; return its place."""
        called = f"{stem(name)}.{digest[:8]}.yaml"
        with self.folders.open(KEPT, make=True) as handle:
            if status_of(handle, called) is None:
                moves.write(self.disk, handle, called, text, None)
        return f"{KEPT}/{called}"

    def remove(self, copy: TaskFileCopy) -> None:
        """Remove a copy whose text is kept elsewhere."""
        with self.folders.open(copy.place) as handle:
            moves.remove(self.disk, handle, copy.name, copy.mark)
        self.index.drop(copy.place, copy.name)


def _unavailable(error: OSError, path: str) -> Unavailable:
    codes = {errno.ENOSPC: "STORAGE_FULL", errno.EDQUOT: "STORAGE_FULL"}
    codes |= dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "STORAGE_READONLY")
    code = codes.get(error.errno or 0, "STORAGE_IO")
    return Unavailable(
        f"{quote(path)} of the board cannot be written: {os.strerror(error.errno or 0)}",
        code=code,
        hint=DECIDED,
    )
