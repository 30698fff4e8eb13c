"""A store's high-water mark: the highest ledger number it ever issued, in a small file outside of the store.

A database that lost its write-ahead log, or that was replaced by an older copy, cannot know that; the
mark reveals it. It is written after each commit, without waiting for the disk, while the writer
still has its turn. So it is never ahead of the store, and a killed process leaves it at most one
transaction behind.
"""

from __future__ import annotations

import os

from dibs.engines.shared.turns import open_private
from dibs.local.files import regular

#: Numbers of a new life start above the next multiple of this.
LIFE = 1_000_000_000
#: The file contains this many digits and a line break; it is overwritten in place.
_DIGITS = 20
_HIGHEST = 1 << 62


def start_of_life(newest: int) -> int:
    """Return the number above which a new life counts, if ``newest`` is the highest so far."""
    return newest + -newest % LIFE


class Mark:
    """One handle's access to the mark at ``path``; if that is not possible, the store works without it."""

    __slots__ = ("_handle", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = -1
        if hasattr(os, "pread"):  # not on Windows
            self._handle = _open(path, os.O_RDWR)
            if self._handle < 0:
                self._handle = _open(path, os.O_RDONLY)

    def read(self) -> int:
        """Return the mark; 0 if there is none or it is unreadable."""
        if self._handle < 0:
            return 0
        try:
            text = os.pread(self._handle, 2 * _DIGITS, 0)
        except OSError:
            return 0
        return _number(text)

    def raise_to(self, number: int) -> None:
        """Write the mark; a failure must not look like a failure of the change, which is complete."""
        try:
            if self._handle < 0:
                self._handle = open_private(self._path)
            os.pwrite(self._handle, b"%0*d\n" % (_DIGITS, number), 0)
        except (OSError, AttributeError):
            return

    def close(self) -> None:
        """Close the file."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def stored_mark(path: str) -> int:
    """Return the mark at ``path``; 0 if there is none."""
    mark = Mark(path)
    try:
        return mark.read()
    finally:
        mark.close()


def mark_problem(path: str) -> str:
    """Return why the mark at ``path`` does not work; empty if it does, or if it does not exist yet."""
    try:
        with open(path, "rb", opener=regular) as file:
            text = file.read(2 * _DIGITS)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
    if not _number(text):
        return f"{path} does not contain a number"
    return "" if os.access(path, os.W_OK) else f"cannot write {path}"


def _open(path: str, mode: int) -> int:
    try:
        return os.open(path, mode)
    except OSError:
        return -1


def _number(text: bytes) -> int:
    digits = text[:-1]
    if len(digits) != _DIGITS or text[-1:] != b"\n" or not digits.isdigit():
        return 0
    number = int(digits)
    return number if number < _HIGHEST else 0
