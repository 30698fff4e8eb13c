"""Bringing many files in line at once: none is ever half there, and all of them share the waits for the disk.

All new texts are written and synced before the first rename, so that the disk is waited for about once and
not once for each file. The order for one file is as ever: its text, synced; a rename in its old place; a
rename to its new place; the folders, synced.
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
#: From how many files on the disk is asked for several at a time, and for how many.
MANY, THREADS = 16, 8


class FileJob:
    """One file on its way from what it is to what it shall be."""

    __slots__ = ("copy", "error", "file", "late", "mark", "target", "temp", "told")

    def __init__(
        self, copy: TaskFileCopy | None, target: TaskFileTarget, *, told: bool = False
    ) -> None:
        self.copy = copy
        self.target = target
        #: Whether it is reported as a loss made good.
        self.told = told
        self.file = -1
        self.temp = ""
        self.mark: FileStamp | None = None if copy is None else copy.mark
        #: Whether a hand was there first.
        self.late = False
        self.error: OSError | None = None

    @property
    def there(self) -> tuple[str, str]:
        """Place and name under which the text is written."""
        return self.target[:2] if self.copy is None else self.copy[:2]

    @property
    def ok(self) -> bool:
        """Whether all went well so far."""
        return not self.late and self.error is None


class FileBatch:
    """Some jobs, done stage by stage."""

    def __init__(self, folders: Folders, jobs: Sequence[FileJob]) -> None:
        self._folders = folders
        self._disk: Disk = folders.disk
        self._jobs = jobs
        self._handles: dict[str, OpenFolder] = {}

    def run(self) -> None:
        """Do all jobs; each knows afterwards how it went."""
        try:
            self._each(self._write)
            self._sync_all()
            self._each(self._swap)
            self._each(self._move)
            for opened in self._handles.values():
                self._disk.sync(opened.handle, ".")
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
        """Wait for the disk, for many files at once: it writes them together if it is asked together."""
        written = [job for job in self._jobs if job.ok and job.temp]
        if len(written) < MANY:
            self._sync_some(written)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(THREADS) as pool:
            parts = [written[first::THREADS] for first in range(THREADS)]
            list(pool.map(self._sync_some, parts))  # raises what a thread did

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
        job.mark = mark_of(os.fstat(job.file))  # the rename has changed the ctime

    def _move(self, job: FileJob) -> None:
        if job.there == job.target[:2]:
            return
        (place, name), (new, called) = job.there, job.target[:2]
        source, target = self._handle(place), self._handle(new)
        unchanged(source, name, job.mark)
        unchanged(target, called, None)
        self._disk.rename(source, name, target, called)

    def _look(self, job: FileJob) -> None:
        """Take the mark by which the file is known from now on."""
        place, name = job.target[:2]
        status = status_of(self._handle(place), name)
        if status is None:
            raise Meanwhile(name)
        if job.file < 0 or os.fstat(job.file).st_ino == status.st_ino:
            job.mark = mark_of(status)
        else:
            raise Meanwhile(name)

    def _discard(self, job: FileJob) -> None:
        """Remove the text that found no place."""
        if job.temp:
            temp, job.temp = job.temp, ""
            self._disk.remove(self._handle(job.there[0]), temp)
