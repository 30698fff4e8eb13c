"""Copies of ignored files, which are never in git's refs or objects: a push of all refs would publish them.

Each entry is a folder ``<common git directory>/dibs/salvage/<agent>/<time>`` that only its user can read. Its
files are compressed, so that a search-and-replace over all files does not match them; ``zcat`` shows one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import zlib

from dibs.errors import DibsError
from dibs.local.files import read_file, regular, write_file
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from hashlib import _Hash as Hash

_FOLDER = os.path.join("dibs", "salvage")
_ABOUT, _END, _DRAFT = "entry.json", ".gz", ".draft-"
#: Makes zlib write and read the format of gzip.
_GZIP = 31
#: How much of a file is in memory at once, in bytes.
_PIECE = 1 << 20


class PrivateFile(Record):
    """An ignored file of an entry."""

    path: str
    #: Its original type and permissions.
    mode: int
    #: The SHA-256 of its content, or of a link's target.
    digest: str


class PrivateEntry(Record):
    """The ignored files of one entry."""

    id: str
    at: int
    subject: str
    folder: str
    files: tuple[PrivateFile, ...]

    def copy_of(self, path: str) -> str:
        """Return the file with the copy of ``path``."""
        number = next(number for number, one in enumerate(self.files) if one.path == path)
        return os.path.join(self.folder, f"{number}{_END}")


def chunks_of(path: str, mode: int) -> Iterator[bytes]:
    """Yield the content of a file piece by piece, or the target of a link."""
    if stat.S_ISLNK(mode):
        yield os.fsencode(os.readlink(path))
        return
    with open(path, "rb", opener=regular) as file:
        while piece := file.read(_PIECE):
            yield piece


def unpacked(path: str) -> Iterator[bytes]:
    """Yield the content of a compressed file piece by piece."""
    unpacker = zlib.decompressobj(_GZIP)
    for piece in chunks_of(path, 0):
        yield unpacker.decompress(piece)
    yield unpacker.flush()


def packed(content: Iterable[bytes], digest: Hash) -> Iterator[bytes]:
    """Yield a content compressed, and add it to ``digest``."""
    packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    for piece in content:
        digest.update(piece)
        yield packer.compress(piece)
    yield packer.flush()


def write_packed(path: str, content: Iterable[bytes]) -> str:
    """Write a new compressed file that only this user can read; return the SHA-256 of its content."""
    from hashlib import sha256

    digest = sha256()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        file.writelines(packed(content, digest))
        file.flush()
        os.fsync(handle)
    return digest.hexdigest()


def digest_of(content: Iterable[bytes]) -> str:
    """Return the SHA-256 of a content."""
    from hashlib import sha256

    digest = sha256()
    for piece in content:
        digest.update(piece)
    return digest.hexdigest()


def add_private(
    common: str,
    id_: str,
    files: Mapping[str, tuple[int, Iterable[bytes]]],
    *,
    at: float,
    subject: str,
) -> bool:
    """Write an entry with these files (path to mode and content); return False if its ID is taken.

    It appears complete or not at all, and is on the disk before this returns.
    """
    place = os.path.join(common, _FOLDER, id_)
    _make(os.path.dirname(place), common)
    draft = tempfile.mkdtemp(prefix=_DRAFT, dir=os.path.join(common, _FOLDER))
    try:
        rows: list[list[object]] = []
        for path, (mode, content) in files.items():
            copy = os.path.join(draft, f"{len(rows)}{_END}")
            rows.append([path, mode, write_packed(copy, content)])
        about = {"at": int(at), "subject": subject, "files": rows}
        write_file(os.path.join(draft, _ABOUT), encode(about), sync=True)
        try:
            os.rename(draft, place)
        except OSError:
            if os.path.lexists(place):
                return False
            raise
        _sync(os.path.dirname(place))
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True


def _make(folder: str, above: str) -> None:
    """Create a folder below ``above``, and those between them, for this user only."""
    missing = []
    while folder != above and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def forget_drafts(common: str, before: float) -> None:
    """Delete entries that a killed process began before this time and never completed."""
    base = os.path.join(common, _FOLDER)
    with contextlib.suppress(OSError):
        for name in os.listdir(base):
            place = os.path.join(base, name)
            if name.startswith(_DRAFT) and os.stat(place).st_mtime < before:
                shutil.rmtree(place, ignore_errors=True)


def private_entries(common: str) -> list[PrivateEntry]:
    """Return all entries with ignored files."""
    base = os.path.join(common, _FOLDER)
    found = []
    for agent in _names(base):
        for name in _names(os.path.join(base, agent)):
            entry = private_entry(common, f"{agent}/{name}")
            if entry is not None:
                found.append(entry)
    return found


def private_entry(common: str, id_: str) -> PrivateEntry | None:
    """Return the ignored files of one entry, if it has any."""
    folder = os.path.join(common, _FOLDER, id_)
    try:
        about = decode(read_file(os.path.join(folder, _ABOUT)).decode())
        files = tuple(PrivateFile(*row) for row in about["files"])
        return PrivateEntry(id_, about["at"], about["subject"], folder, files)
    except (OSError, ValueError, TypeError, KeyError, DibsError):
        return None


def has_private(common: str, id_: str) -> bool:
    """Return whether an entry with ignored files has this ID."""
    return os.path.lexists(os.path.join(common, _FOLDER, id_))


def write_private(entry: PrivateEntry, place: str) -> None:
    """Write the files of an entry below ``place``; existing files stay as they are."""
    for one in entry.files:
        target = os.path.join(place, one.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
            continue  # a link leads elsewhere
        if os.path.lexists(target):
            continue
        content = unpacked(entry.copy_of(one.path))
        if stat.S_ISLNK(one.mode):
            os.symlink(b"".join(content), os.fsencode(target))
            continue
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(content)
        os.chmod(target, stat.S_IMODE(one.mode) & 0o777)


def _names(folder: str) -> Iterable[str]:
    with contextlib.suppress(OSError):
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    return ()
