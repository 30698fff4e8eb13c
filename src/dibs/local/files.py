"""Atomic file writes: a reader sees the old content or the new content, never a part of it.

Records are appended in one write, so that those of two processes do not mix. ``regular`` opens a file that
someone else may have replaced: by a FIFO, which would wait for a writer, or by a device without an end.
"""

# On the path of hooks and claims: import only built-in modules.

from __future__ import annotations

import os
from _thread import get_ident
from errno import EFBIG, EINVAL

#: Readable and writable only by the owner; no umask changes it.
_PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_END = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
#: Without it, opening a FIFO waits for another process.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW |= _SAFE
_END |= _SAFE | _AT_ONCE
#: The type of a file in its mode, and that of a regular one.
_TYPE, _REGULAR = 0o170000, 0o100000


def write_file(
    path: str,
    content: str | bytes,
    *,
    mode: int = _PRIVATE,
    sync: bool = False,
    drafts: str = "",
    owner: tuple[int, int] | None = None,
) -> None:
    """Replace the file at ``path``; if that fails, the old one stays and no draft is left.

    ``sync`` waits for the disk. ``drafts`` is the folder of the draft, on the same file system; by default,
    that of the file. An ``OSError`` names ``path``.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    place = f"{drafts}/{os.path.basename(path)}" if drafts else path
    draft = f"{place}.{os.getpid()}-{get_ident():x}"
    placed = False
    try:
        handle = _create(draft, mode)
        try:
            _fill(handle, data, mode, owner)
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, path)
        placed = True
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        if not placed:
            _remove(draft)


def regular(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a regular file, as the ``opener`` of ``open``; any other kind is an ``OSError`` at once."""
    handle = os.open(path, flags | _AT_ONCE, mode)
    if os.fstat(handle).st_mode & _TYPE == _REGULAR:
        return handle
    os.close(handle)
    raise OSError(EINVAL, "not a regular file", path)


def read_file(path: str, limit: int = 0) -> bytes:
    """Return the bytes of a regular file; with a ``limit``, one that has more is an ``OSError``."""
    with open(path, "rb", opener=regular) as file:
        content = file.read(limit + 1) if limit else file.read()
    if limit and len(content) > limit:
        raise OSError(EFBIG, f"larger than {limit} bytes", path)
    return content


def read_or_empty(path: str, limit: int = 0) -> bytes:
    """Return the bytes of a regular file; empty if it cannot be read or has more than the ``limit``."""
    try:
        return read_file(path, limit)
    except OSError:
        return b""


def append_file(path: str, data: bytes) -> int:
    """Add to a file that only its owner can read, and create it and its folder; return its size."""
    try:
        handle = os.open(path, _END, _PRIVATE)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(path, _END, _PRIVATE)
    try:
        os.write(handle, data)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def _create(draft: str, mode: int) -> int:
    try:
        return os.open(draft, _NEW, mode)
    except FileExistsError:  # left by a killed process with the same number
        os.unlink(draft)
        return os.open(draft, _NEW, mode)


def _fill(handle: int, data: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    if owner is not None:
        os.fchown(handle, *owner)
    if mode != _PRIVATE and hasattr(os, "fchmod"):  # the umask has changed it
        os.fchmod(handle, mode)


def _remove(draft: str) -> None:
    try:
        os.unlink(draft)
    except OSError:
        return


#: The CRC-32 of each half of a byte.
_CRC_32 = (
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
)  # fmt: skip


def checksum(content: bytes) -> int:
    """Return the CRC-32 of a short text; hooks need only this of ``zlib``, which takes longer to load."""
    found = 0xFFFFFFFF
    for byte in content:
        found ^= byte
        found = found >> 4 ^ _CRC_32[found & 15]
        found = found >> 4 ^ _CRC_32[found & 15]
    return found ^ 0xFFFFFFFF


def tree_name(root: str) -> str:
    """Return the name of a working tree's folders in the state."""
    return f"{checksum(os.fsencode(root)):08x}"
