"""The files of one board: write them, set them aside, save hand edits, and keep the index up to date."""

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

#: Where hand edits are saved that cannot be accepted and cannot stay.
KEPT = f"{COLLABORATION}/set-aside"
#: The hint if a file cannot be written to match its row.
DECIDED = "the change itself was saved; the next board command updates the file"


class TaskFileCopy(Record):
    """A task file on disk."""

    place: str
    name: str
    mark: FileStamp
    digest: str
    #: Its content, if it was read.
    content: bytes | None = None
    #: The version of the task that it was written from, 0 if unknown.
    base: int = 0
    #: Whether it is unchanged since then.
    written: bool = False

    @property
    def path(self) -> str:
        """Its path, relative to the board's folder."""
        return f"{self.place}/{self.name}"


class TaskFileTarget(Record):
    """The path and text that a task's file must have."""

    place: str
    name: str
    text: str
    digest: str
    version: int

    @property
    def path(self) -> str:
        """Its path, relative to the board's folder."""
        return f"{self.place}/{self.name}"


class Files:
    """The files of a board, and what is known about them."""

    def __init__(
        self,
        folders: Folders,
        index: Index,
        digest: Callable[[bytes], str],
        now: float,
        *,
        reads: bool = False,
    ) -> None:
        self.folders = folders
        self.index = index
        self.digest = digest
        #: The time of this command, by the clock that stamps files.
        self.now = now
        #: Whether the command only reads: the index is updated, files are not.
        self.reads = reads

    @property
    def disk(self) -> Disk:
        """The disk that changes files."""
        return self.folders.disk

    def read(self, place: str, name: str) -> TaskFileCopy | None:
        """Return a file with its content, None if it does not exist or cannot be read."""
        try:
            with self.folders.open(place) as handle:
                content, mark = read(handle, name, MAX_FILE)
        except OSError as error:
            if isinstance(error, PermissionError):
                unread = TaskFileCopy(place, name, FileStamp(0, 0, 0, 0), "")
                self.set_aside(
                    unread, -1, "TASK_KIND", f"{quote(name)} is not readable by this user"
                )
            return None
        known = self.index.folder(place).get(name) if not place.startswith(ARCHIVE) else None
        copy = TaskFileCopy(place, name, mark, self.digest(content), content)
        if known is None:
            return copy
        return copy._replace(base=known.version, written=known.digest == copy.digest)

    def archived(self) -> list[tuple[str, str]]:
        """Return place and name of each archived file, month by month."""
        return [
            (place, name)
            for place in self._months()
            for name in self.names(place)
            if name.endswith(ENDINGS) and not name.startswith(".")
        ]

    def in_archive(self, name: str) -> list[TaskFileCopy]:
        """Return the archived files with this name."""
        found = [self.read(place, name) for place in self._months() if self.is_there(place, name)]
        return [copy for copy in found if copy is not None]

    def _months(self) -> list[str]:
        """Return the folders of the archive, and the archive itself, into which people move files."""
        return [ARCHIVE, *(f"{ARCHIVE}/{month}" for month in self.names(ARCHIVE))]

    def names(self, place: str) -> list[str]:
        """Return the names in a folder, sorted; empty if it does not exist."""
        try:
            with self.folders.open(place) as handle:
                return sorted(os.listdir(handle))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def known(self, place: str, name: str) -> TaskFileCopy | None:
        """Return a file as the index has it, or read it again if it changed."""
        entry, status = self.index.folder(place).get(name), self._status(place, name)
        if entry is None or status is None:
            return None
        if mark_of(status) == entry.mark:
            return TaskFileCopy(
                place, name, entry.mark, entry.digest, None, entry.version, written=True
            )
        return self.read(place, name)

    def is_there(self, place: str, name: str) -> bool:
        """Return whether this name exists."""
        return self._status(place, name) is not None

    def _status(self, place: str, name: str) -> os.stat_result | None:
        try:
            with self.folders.open(place) as handle:
                return status_of(handle, name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def note(self, copy: TaskFileCopy, version: int) -> None:
        """Record that a file shows this version of its task."""
        if not copy.place.startswith(ARCHIVE):
            self.index.folder(copy.place).put(
                copy.name, FileRecord(copy.mark, version, copy.digest)
            )
        self.index.asides.pop(copy.path, None)

    def write(self, jobs: Sequence[FileJob]) -> None:
        """Write and move files; each job records whether it worked, and leaves the file alone if not."""
        for start in range(0, len(jobs), SIZE):
            self.folders.report("writing task files", start, len(jobs))
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
        """Set aside a file that cannot be written here; a full or broken disk stops the command."""
        if error.errno not in {errno.EXDEV, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}:
            raise _unavailable(error, target.path) from error
        if error.errno == errno.EXDEV:
            message = f"{quote(target.place)} is on another device; the file is not copied there"
        else:
            message = f"cannot write {quote(target.path)}: {error.strerror}"
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
        """Leave a file where it is, and record why it is not accepted."""
        before = self.index.asides.get(copy.path)
        same = before is not None and (before.code, before.message) == (code, message)
        since = before.since if before is not None and same else self.now
        self.index.asides[copy.path] = Aside(copy.mark, version, code, message, line, field, since)

    def keep(self, copy: TaskFileCopy) -> str:
        """Move a hand edit out of the way and return its new path."""
        name = f"{stem(copy.name)}.{copy.digest[:8]}.yaml"
        with self.folders.open(KEPT, make=True) as handle:
            there = status_of(handle, name) is not None
        if there:  # the same text is already saved
            self.remove(copy)
        else:
            moves.move(self.folders, (copy.place, copy.name), (KEPT, name), copy.mark)
            self.index.drop(copy.place, copy.name)
        return f"{KEPT}/{name}"

    def keep_text(self, name: str, text: str, digest: str) -> str:
        """Save a text that a file had; return its path."""
        called = f"{stem(name)}.{digest[:8]}.yaml"
        with self.folders.open(KEPT, make=True) as handle:
            moves.write_new(self.disk, handle, called, text)
        return f"{KEPT}/{called}"

    def remove(self, copy: TaskFileCopy) -> None:
        """Remove a copy whose text exists elsewhere."""
        with self.folders.open(copy.place) as handle:
            moves.remove(self.disk, handle, copy.name, copy.mark)
        self.index.drop(copy.place, copy.name)


def _unavailable(error: OSError, path: str) -> Unavailable:
    codes = {errno.ENOSPC: "STORAGE_FULL", errno.EDQUOT: "STORAGE_FULL"}
    codes |= dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "STORAGE_READONLY")
    code = codes.get(error.errno or 0, "STORAGE_IO")
    return Unavailable(
        f"cannot write {quote(path)} of the board: {os.strerror(error.errno or 0)}",
        code=code,
        hint=DECIDED,
    )
