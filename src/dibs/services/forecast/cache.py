"""What earlier forecasts found: a merge of the same two commits gives the same again."""

from __future__ import annotations

import contextlib
import json
import os

from dibs.core.changes.forecasts import ForecastConflict
from dibs.local.files import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: How many outcomes are kept.
KEPT = 4_000
_FORM = 1


class Outcomes:
    """The outcomes of merges, kept in a file of the project's state; losing it costs only time."""

    def __init__(self, path: str, salt: str) -> None:
        self._path = path
        self._salt = salt
        self._changed = False
        self._known: dict[str, tuple[ForecastConflict, ...]] = _read(path, salt)

    def get(self, one: str, other: str) -> tuple[ForecastConflict, ...] | None:
        """Return what a merge of two commits gave, if that is known."""
        key = f"{one} {other}"
        found = self._known.pop(key, None)
        if found is not None:
            self._known[key] = found  # what is used stays
        return found

    def put(self, one: str, other: str, clashes: tuple[ForecastConflict, ...]) -> None:
        """Note what a merge of two commits gave."""
        self._known[f"{one} {other}"] = clashes
        self._changed = True

    def renew(self, salt: str) -> None:
        """Forget everything if merges have come to work otherwise."""
        if salt != self._salt:
            self._salt, self._known, self._changed = salt, {}, True

    def save(self) -> None:
        """Write the newest; a disk that cannot take them is no reason to fail."""
        if not self._changed:
            return
        self._changed = False
        for key in list(self._known)[:-KEPT]:
            del self._known[key]
        text = json.dumps({"form": _FORM, "salt": self._salt, "merges": self._known})
        with contextlib.suppress(OSError):
            write_file(self._path, text)


def _read(path: str, salt: str) -> dict[str, tuple[ForecastConflict, ...]]:
    """Return what a file holds; nothing if it is of another form, damaged, or not there."""
    try:
        with open(path, encoding="ascii") as file:
            stored = json.load(file)
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
    """Return a text that changes when one of these files does."""
    marks = []
    for path in paths:
        try:
            status = os.stat(path)
            marks.append(f"{status.st_mtime_ns}.{status.st_size}")
        except OSError:
            marks.append("-")
    return " ".join(marks)
