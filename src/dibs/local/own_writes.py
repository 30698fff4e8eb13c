"""How an agent's own calls left files: one file of the clone's local state per agent and working tree.

Each line is a record, in order: path, stat, time, and two checksums of the content. Losing records only means
that less is known.
"""

# On the path of hooks: import only built-in modules.

from __future__ import annotations

import os

from dibs.local.files import append_file, read_or_empty, regular, write_file
from dibs.startup.quickjson import dumps, raw_decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    #: A file's mtime, size, inode, mode, and ctime (which no program can set); None without a file.
    Stat = list[int] | None

#: Above this size in bytes, only the last record of each path stays, and of these the newest.
_LARGE, _MOST = 256 * 1024, 1000
#: The largest file whose content is compared; of larger ones, only the stat is.
_LARGEST = 4 << 20
#: What formatters change: white space, quotes, and commas.
_FORMAT = b" \t\r\n\f\v'\"`,"
#: A formatter that an edit starts is done after this many nanoseconds.
_FORMATTED = 30 * 10**9


def stat_of(root: str, path: str) -> Stat:
    """Return what distinguishes a file's state from an earlier one."""
    try:
        found = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_ctime_ns]


def note_written(place: str, root: str, paths: Iterable[str], now: float) -> None:
    """Record the state of files that an agent's own call has just written."""
    noted = {}
    for path in paths:
        about = stat_of(root, path)
        noted[path] = [about, now, *_checksums(root, path, about)]
    if noted and append_file(place, _lines(noted)) > _LARGE:
        replace_written(place, read_written(place))


def replace_written(place: str, noted: Mapping[str, list[Any]]) -> None:
    """Replace all records by the newest of these."""
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    write_file(place, _lines(dict(list(noted.items())[-_MOST:])))


def _lines(noted: Mapping[str, list[Any]]) -> bytes:
    return "".join(f"\n{dumps([path, *about])}" for path, about in noted.items()).encode()


def read_written(place: str) -> dict[str, list[Any]]:
    """Return the newest record of each path: stat, time, and checksums if known."""
    text = read_or_empty(place).decode("utf-8", "surrogateescape")
    found: dict[str, list[Any]] = {}
    for line in text.split("\n"):
        try:
            record = raw_decode(line)[0] if line else None
        except ValueError:
            continue  # a write that was cut short
        if isinstance(record, list) and record:
            found.pop(record[0], None)  # so that the newest come last
            found[record[0]] = record[1:]
    return found


def is_as_left(root: str, path: str, noted: list[Any]) -> bool:
    """Return whether a file is as an agent's own call left it, apart from timestamps and formatting.

    Formatting counts only right after the call: later, it is someone's work.
    """
    left, now = noted[0], stat_of(root, path)
    if now == left:
        return True
    if now is None or left is None or now[3] != left[3]:
        return False
    exact, loose = _checksums(root, path, now)
    known = noted[2:4] if exact else [0, 0]
    if known[:1] == [exact]:
        return True
    return known[1:] == [loose] and 0 <= now[0] - left[0] < _FORMATTED


def _checksums(root: str, path: str, about: Stat) -> tuple[int, int]:
    """Return checksums of a file's content, exact and regardless of its formatting; 0 if unknown."""
    if about is None or about[3] & 0o170000 != 0o100000 or about[1] > _LARGEST:  # noqa: PLR2004 - a file
        return 0, 0
    try:
        with open(os.path.join(root, path), "rb", opener=regular) as file:
            content = file.read(_LARGEST)
    except OSError:
        return 0, 0
    from zlib import crc32

    return crc32(content, 1) or 1, crc32(content.translate(None, _FORMAT), 1) or 1
