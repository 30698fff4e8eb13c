"""Cache of trial merges: merging the same two commits always gives the same result."""

from __future__ import annotations

import contextlib
import json
import os

from dibs.core.changes.forecasts import ForecastConflict
from dibs.local.files import read_file, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The most results kept.
KEPT = 4_000
_FORM = 1


class Outcomes:
    """Results of trial merges, in a file in the state folder; losing it costs only time."""

    def __init__(self, path: str, salt: str) -> None:
        self._path = path
        self._salt = salt
        self._changed = False
        self._known: dict[str, tuple[ForecastConflict, ...]] = _read(path, salt)

    def get(self, one: str, other: str) -> tuple[ForecastConflict, ...] | None:
        """Return the conflicts of merging two commits, or None if unknown."""
        key = f"{one} {other}"
        found = self._known.pop(key, None)
        if found is not None:
            self._known[key] = found  # move it to the end: the oldest are dropped first
        return found

    def put(self, one: str, other: str, clashes: tuple[ForecastConflict, ...]) -> None:
        """Store the conflicts of merging two commits."""
        self._known[f"{one} {other}"] = clashes
        self._changed = True

    def save(self) -> None:
        """Write the newest results; ignore a disk error."""
        if not self._changed:
            return
        self._changed = False
        for key in list(self._known)[:-KEPT]:
            del self._known[key]
        text = json.dumps({"form": _FORM, "salt": self._salt, "merges": self._known})
        with contextlib.suppress(OSError):
            write_file(self._path, text)


def _read(path: str, salt: str) -> dict[str, tuple[ForecastConflict, ...]]:
    """Return the stored results, or nothing if the file is missing, damaged, or in another format."""
    try:
        stored = json.loads(read_file(path))
        if stored["form"] != _FORM or stored["salt"] != salt:
            return {}
        return {key: tuple(map(_clash, rows)) for key, rows in stored["merges"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _clash(row: Any) -> ForecastConflict:
    path, kind, note, hunks = row
    lines = tuple((int(a), int(b), int(c), int(d)) for a, b, c, d in hunks)
    return ForecastConflict(str(path), str(kind), str(note), lines)


def salt_of(*paths: str) -> str:
    """Return a text that changes when one of these files changes."""
    marks = []
    for path in paths:
        try:
            status = os.stat(path)
            marks.append(f"{status.st_mtime_ns}.{status.st_size}")
        except OSError:
            marks.append("-")
    return " ".join(marks)
