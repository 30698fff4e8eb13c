"""Atomic file writes: a reader sees the old content or the new content, never a part of it.

Records are appended in one write, so that those of two processes do not mix.
"""

# On the path of hooks and claims: import only built-in modules.

from __future__ import annotations

import os
from _thread import get_ident

#: Readable and writable only by the owner; no umask changes it.
_PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_END = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW |= _SAFE
_END |= _SAFE


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
