"""Read from disk what a shell command would read: lists, patches, archives, and files that contain a text.

It runs nothing. All reads have limits, beyond which the answer is "unknown", because an agent's hook waits.
"""

from __future__ import annotations

import os
import stat
import time

from dibs.core.shell.effects import FileSource
from dibs.core.shell.words import TOP
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from dibs.core.shell.effects import FileSearch
    from dibs.core.shell.words import Arg

#: The largest list or patch, the largest searched file, and the largest archive, in bytes.
_TEXT, _SEARCHED, _ARCHIVE = 1 << 20, 1 << 20, 64 << 20
#: The most names that an answer has, and the most files that are searched.
_MOST, _MOST_SEARCHED = 2000, 5000
#: The time for all answers to one command, in seconds.
_PATIENCE = 0.5
#: Folders that searches skip.
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv"})


class _TooLong(OSError):
    """An archive is too large to be listed."""


class CommandFiles(FileSource):
    """The files that one command may take names from."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._until = 0.0

    def _path(self, path: str) -> str:
        return os.path.join(self._cwd, path)

    def _late(self) -> bool:
        self._until = self._until or time.monotonic() + _PATIENCE
        return time.monotonic() > self._until

    def text(self, path: str) -> str | None:
        """Return the text of a small file."""
        if path.startswith(TOP) or self._late():
            return None
        content = _read(self._path(path), _TEXT + 1)
        if content is None or len(content) > _TEXT or b"\0" in content[:8000]:
            return None
        return os.fsdecode(content)

    def names(self, path: str) -> list[str] | None:
        """Return the names in a folder."""
        if self._late():
            return None
        try:
            found = os.listdir(self._path(path))
        except (OSError, ValueError):
            return None
        shown = [name for name in found if not name.startswith(".")]
        return shown if len(shown) <= _MOST else None

    def members(self, path: str) -> list[str] | None:
        """Return the names of the files in a tar or zip archive."""
        full = self._path(path)
        try:
            if not stat.S_ISREG(os.stat(full).st_mode) or os.path.getsize(full) > _ARCHIVE:
                return None
            return list(_zip_names(full) if _is_zip(full) else self._tar_names(full))
        except (OSError, ValueError, EOFError, LookupError):
            return None

    def _tar_names(self, path: str) -> Iterator[str]:
        import tarfile
        import zlib

        try:
            with (
                open(path, "rb") as file,
                tarfile.open(fileobj=_Limited(_plain(file)), mode="r|") as archive,  # type: ignore[call-overload]
            ):
                for number, one in enumerate(archive):
                    if number > _MOST or self._late():
                        raise _TooLong
                    if not one.isdir():
                        yield one.name.removeprefix("./")
        except (tarfile.TarError, zlib.error) as error:
            raise _TooLong from error

    def holding(self, place: str, paths: Sequence[Arg], wanted: FileSearch) -> list[str] | None:
        """Return the files at ``paths`` in the folder ``place`` whose text matches, as grep prints them."""
        if self._late():
            return None
        import re
        from fnmatch import fnmatch

        search = re.compile(
            os.fsencode(wanted.pattern), re.MULTILINE | (re.IGNORECASE if wanted.fold_case else 0)
        )
        base = self._path(place)
        found: list[str] = []
        count = 0
        for name in _named(base, paths, deep=wanted.deep):
            if wanted.names and not any(
                fnmatch(os.path.basename(name), one) for one in wanted.names
            ):
                continue
            count += 1
            if count > _MOST_SEARCHED or len(found) > _MOST or self._late():
                return None
            content = _read(os.path.join(base, name), _SEARCHED)
            if content is not None and (search.search(content) is None) == wanted.without:
                found.append(name)
        return found


def _named(base: str, paths: Sequence[Arg], *, deep: bool) -> Iterator[str]:
    """Yield the files that these arguments name, relative to ``base``."""
    from glob import iglob

    for arg in paths:
        names = iglob(arg.text, root_dir=base, recursive=True) if arg.glob else [arg.text]
        for name in names:
            full = os.path.join(base, name)
            if not os.path.isdir(full):
                yield name
            elif deep:
                for folder, folders, files in os.walk(full):
                    folders[:] = [one for one in folders if one not in _SKIPPED]
                    inner = os.path.relpath(folder, full)
                    start = name if inner == "." else os.path.join(name, inner)
                    yield from (os.path.join(start, one).removeprefix("./") for one in files)


def _read(path: str, most: int) -> bytes | None:
    """Return the start of a regular file; never wait for a pipe or a device."""
    try:
        with open(path, "rb", opener=regular) as file:
            return file.read(most)
    except (OSError, ValueError):
        return None


def _is_zip(path: str) -> bool:
    return (_read(path, 2) or b"") == b"PK"


def _zip_names(path: str) -> Iterator[str]:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise _TooLong from error
    if len(names) > _MOST:
        raise _TooLong
    yield from (name for name in names if not name.endswith("/"))


def _plain(file: IO[bytes]) -> IO[bytes]:
    """Return the uncompressed content of a file."""
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if start.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(file)
    if start.startswith(b"\xfd7zXZ"):
        import lzma

        return lzma.LZMAFile(file)
    return file


class _Limited:
    """A file that can be read only up to a limit, so that a small archive cannot take long."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = 2 * _ARCHIVE

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        self._left -= max(size, 0)
        if size < 0 or self._left < 0:
            raise _TooLong
        return self._file.read(size)
