"""Write many files at once: none is ever half written, and all share the waits for the disk.

All new texts are written and synced before the first rename, so the disk is waited for about once, not once
per file. The order for each file is: text, synced; rename in its old place; rename to its new place;
new place, synced. A rename is one change to the disk, so the old place needs no sync of its own.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.workdir.disk import mark_of, status_of
from dibs.workdir.moves import Meanwhile, unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.workdir.disk import Disk, FileStamp, Folders, OpenFolder
    from dibs.workdir.files import TaskFileCopy, TaskFileTarget

#: How many files are open at once.
SIZE = 200
#: From how many files on syncs run in parallel, and how many at a time.
MANY, THREADS = 16, 8


class FileJob:
    """One file to be written or moved."""

    __slots__ = ("copy", "error", "file", "late", "mark", "restored", "target", "temp")

    def __init__(
        self, copy: TaskFileCopy | None, target: TaskFileTarget, *, restored: bool = False
    ) -> None:
        self.copy = copy
        self.target = target
        #: Whether it is reported as restored.
        self.restored = restored
        self.file = -1
        self.temp = ""
        self.mark: FileStamp | None = None if copy is None else copy.mark
        #: Whether someone else changed the file first.
        self.late = False
        self.error: OSError | None = None

    @property
    def there(self) -> tuple[str, str]:
        """The place and name under which the text is written."""
        return self.target[:2] if self.copy is None else self.copy[:2]

    @property
    def ok(self) -> bool:
        """Whether it has succeeded so far."""
        return not self.late and self.error is None


class FileBatch:
    """Some jobs, done stage by stage."""

    def __init__(self, folders: Folders, jobs: Sequence[FileJob]) -> None:
        self._folders = folders
        self._disk: Disk = folders.disk
        self._jobs = jobs
        self._handles: dict[str, OpenFolder] = {}

    def run(self) -> None:
        """Do all jobs; each records its result."""
        try:
            self._each(self._write)
            self._sync_all()
            self._each(self._swap)
            self._each(self._move)
            for place in dict.fromkeys(job.target.place for job in self._jobs if job.ok):
                self._disk.sync(self._handle(place), ".")
            self._each(self._look)
        except (DibsError, OSError):
            for job in self._jobs:
                self._discard(job)
            raise
        finally:
            for job in self._jobs:
                if job.file >= 0:
                    os.close(job.file)
            for opened in self._handles.values():
                opened.__exit__()

    def _each(self, stage: Callable[[FileJob], None]) -> None:
        for job in self._jobs:
            if job.ok:
                self._do(stage, job)

    def _do(self, stage: Callable[[FileJob], None], job: FileJob) -> None:
        try:
            stage(job)
        except Meanwhile:
            job.late = True
        except OSError as error:
            job.error = error
        if not job.ok:
            self._discard(job)

    def _handle(self, place: str) -> int:
        if place not in self._handles:
            self._handles[place] = self._folders.open(place, make=True)
        return self._handles[place].handle

    def _write(self, job: FileJob) -> None:
        if job.copy is not None and job.copy.digest == job.target.digest:
            return
        job.file, job.temp = self._disk.create(self._handle(job.there[0]))
        content = job.target.text.encode("utf-8", "surrogateescape")
        self._disk.write(job.file, job.temp, content)

    def _sync_all(self) -> None:
        """Sync many files in parallel: the disk writes them together if asked together."""
        written = [job for job in self._jobs if job.ok and job.temp]
        if len(written) < MANY:
            self._sync_some(written)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(THREADS) as pool:
            parts = [written[first::THREADS] for first in range(THREADS)]
            list(pool.map(self._sync_some, parts))  # raises what a thread raised

    def _sync_some(self, jobs: Sequence[FileJob]) -> None:
        for job in jobs:
            self._do(self._sync, job)

    def _sync(self, job: FileJob) -> None:
        self._disk.sync(job.file, job.temp)

    def _swap(self, job: FileJob) -> None:
        if not job.temp:
            return
        place, name = job.there
        folder = self._handle(place)
        unchanged(folder, name, job.mark)
        self._disk.rename(folder, job.temp, folder, name)
        job.temp = ""
        job.mark = mark_of(os.fstat(job.file))  # the rename changed the ctime

    def _move(self, job: FileJob) -> None:
        if job.there == job.target[:2]:
            return
        (place, name), (new, called) = job.there, job.target[:2]
        source, target = self._handle(place), self._handle(new)
        unchanged(source, name, job.mark)
        unchanged(target, called, None)
        self._disk.rename(source, name, target, called)

    def _look(self, job: FileJob) -> None:
        """Record the file's new stamp."""
        place, name = job.target[:2]
        status = status_of(self._handle(place), name)
        if status is None:
            raise Meanwhile(name)
        if job.file < 0 or os.fstat(job.file).st_ino == status.st_ino:
            job.mark = mark_of(status)
        else:
            raise Meanwhile(name)

    def _discard(self, job: FileJob) -> None:
        """Remove a temporary file that was not renamed."""
        if job.temp:
            temp, job.temp = job.temp, ""
            self._disk.remove(self._handle(job.there[0]), temp)
