"""Calls that change files, inside one folder and never through a symbolic link.

Only ``Disk`` opens, renames, or removes files; it calls ``reach`` before each step, so that a test can stop
there as a crash would.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from dibs.core.text.names import quote
from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How our temporary files begin and end; every reader of the board ignores them.
TEMP_PREFIX, TEMP_ENDING = ".dibs-", ".tmp"
#: Fewer files than this are written too fast to report progress.
MANY_FILES = 200
#: How many folders are kept open at once.
MANY = 64

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER |= getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
#: Without O_NONBLOCK, opening a FIFO would wait for a writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class FileStamp(Record):
    """Values that change when a file changes."""

    mtime: int
    ctime: int
    size: int
    inode: int


def mark_of(status: os.stat_result) -> FileStamp:
    """Return the stamp of a file from its status."""
    return FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


class Disk:
    """Steps on the disk. Folders are handles, so a step stays in its folder even if that is renamed."""

    def reach(self, step: str, name: str) -> None:
        """Do nothing; tests override this to stop here."""

    def create(self, folder: int) -> tuple[int, str]:
        """Create a temporary file."""
        name = f"{TEMP_PREFIX}{os.urandom(6).hex()}{TEMP_ENDING}"
        self.reach("create", name)
        return os.open(name, _NEW, 0o644, dir_fd=folder), name

    def write(self, file: int, name: str, content: bytes) -> None:
        """Write all of ``content``."""
        view = memoryview(content)
        self.reach("write", name)
        while view:
            view = view[os.write(file, view) :]

    def sync(self, file: int, name: str) -> None:
        """Sync a file, or the names in a folder, to the disk."""
        self.reach("sync", name)
        os.fsync(file)

    def rename(self, folder: int, name: str, target: int, new: str) -> None:
        """Rename a file."""
        self.reach("rename", new)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=target)

    def remove(self, folder: int, name: str) -> None:
        """Remove a file."""
        self.reach("remove", name)
        os.unlink(name, dir_fd=folder)

    def make(self, folder: int, name: str) -> None:
        """Create a folder unless it exists; if a power failure removes it, the rows restore its files."""
        self.reach("make", name)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)


def read(folder: int, name: str, limit: int) -> tuple[bytes, FileStamp]:
    """Return at most ``limit`` + 1 bytes of a regular file, and its stamp."""
    file = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        # Ask for one byte more than expected: not getting it shows the end without another call.
        content = os.read(file, min(status.st_size, limit) + 1)
        while len(content) != status.st_size and len(content) <= limit:
            more = os.read(file, limit + 1 - len(content))
            if not more:
                break
            content += more
        return content, mark_of(status)
    finally:
        os.close(file)


def status_of(folder: int, name: str) -> os.stat_result | None:
    """Return the status of this name, without following a link."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


class OpenFolder:
    """A handle on a folder, closed at the end of a ``with`` unless it is ``lent``."""

    __slots__ = ("handle", "lent")

    def __init__(self, handle: int, *, lent: bool = False) -> None:
        self.handle = handle
        self.lent = lent

    def __enter__(self) -> int:
        """Return the handle."""
        return self.handle

    def __exit__(self, *_: object) -> None:
        """Close it, unless it is lent."""
        if not self.lent:
            os.close(self.handle)


def _no_progress(what: str, done: int, total: int) -> None:
    """Show nothing."""


class Folders:
    """The folders under a trusted one. Symbolic links are never followed."""

    __slots__ = ("_held", "_kept", "base", "disk", "folder", "progress")

    def __init__(self, base: str, folder: str, disk: Disk) -> None:
        #: A real path that the caller trusts, and the board's folder under it.
        self.base = base
        self.folder = folder
        self.disk = disk
        #: Shows progress: what is done, how many of it, and of how many.
        self.progress: Callable[[str, int, int], None] = _no_progress
        self._held = -1
        self._kept: dict[str, int] | None = None

    def report(self, what: str, done: int, total: int) -> None:
        """Report progress, unless there is little to do; a ``total`` of 0 is unknown."""
        if not 0 < total < MANY_FILES:
            self.progress(what, done, total)

    def hold(self, *, make: bool = True) -> None:
        """Keep the board's folder open, for a command that opens many folders under it."""
        self._held = self._walk(os.open(self.base, _FOLDER), self.folder, make=make)

    def let_go(self) -> None:
        """Close the board's folder."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Open each folder only once inside a ``with`` that reads many files; for one thread."""
        kept: dict[str, int] = {}
        self._kept = kept
        try:
            yield
        finally:
            self._kept = None
            for handle in kept.values():
                os.close(handle)

    def there(self) -> bool:
        """Return whether the board's folder exists; refuse anything else in its place."""
        try:
            self.open("").__exit__()
        except FileNotFoundError:
            return False
        except NotADirectoryError as error:
            raise Misconfigured(
                f"{quote(self.folder)} cannot be the board: {error.filename} is a link or not a folder",
                code="BOARD_FOLDER",
                field="board.folder",
                hint="set [board] folder to a real folder inside the repository",
            ) from None
        return True

    def open(self, place: str, *, make: bool = False) -> OpenFolder:
        """Open a folder of the board; an empty place is the board's own folder."""
        if self._kept is not None and not make:
            handle = self._kept.get(place)
            if handle is None:
                handle = self._opened(place, make=False)
                if len(self._kept) >= MANY:
                    return OpenFolder(handle)
                self._kept[place] = handle
            return OpenFolder(handle, lent=True)
        return OpenFolder(self._opened(place, make=make))

    def _opened(self, place: str, *, make: bool) -> int:
        above, _, name = place.rpartition("/")
        if name and self._kept is not None and above in self._kept:
            return self._step(self._kept[above], name, make=make)
        if self._held >= 0:
            return self._walk(os.dup(self._held), place, make=make)
        path = f"{self.folder}/{place}" if place else self.folder
        return self._walk(os.open(self.base, _FOLDER), path, make=make)

    def beside(self, path: str) -> OpenFolder:
        """Open a folder that is not the board's, relative to the base."""
        return OpenFolder(self._walk(os.open(self.base, _FOLDER), path, make=False))

    def _walk(self, handle: int, path: str, *, make: bool) -> int:
        for part in path.split("/") if path else ():
            try:
                below = self._step(handle, part, make=make)
            finally:
                os.close(handle)
            handle = below
        return handle

    def _step(self, handle: int, part: str, *, make: bool) -> int:
        try:
            return os.open(part, _FOLDER, dir_fd=handle)
        except FileNotFoundError:
            if not make:
                raise
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:  # systems report a link differently
                raise NotADirectoryError(errno.ENOTDIR, "a link or not a folder", part) from None
            raise
        self.disk.make(handle, part)
        return os.open(part, _FOLDER, dir_fd=handle)
