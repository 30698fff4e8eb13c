"""Progress of long operations: a bar on a terminal, a line now and then elsewhere.

Everything goes to stderr, so that output can be piped.
"""

from __future__ import annotations

import os
import shutil
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: Seconds between two redraws of the bar, and between two lines without a terminal.
_REDRAW, _LINE = 0.1, 1.0
#: Seconds before anything is shown: a fast operation needs no bar.
_DELAY = 0.5
_WIDTH = 30
_ERASE = "\r\x1b[K"


class Progress:
    """Shows how far an operation is; a context manager that erases the bar at its end."""

    def __init__(self, *, quiet: bool = False, delay: float = _DELAY) -> None:
        self._quiet = quiet
        self._bar = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + (delay if self._bar else max(delay, _LINE))
        self._drawn = False

    def __enter__(self) -> Progress:
        """Start; nothing is shown yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Erase the bar."""
        if self._drawn:
            print(_ERASE, end="", file=sys.stderr, flush=True)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are finished, if it is time to; 0 means unknown."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        if self._bar:
            self._next = now + _REDRAW
            self._drawn = True
            print(
                f"{_ERASE}{bar(what, done, total, _columns())}", end="", file=sys.stderr, flush=True
            )
        else:
            self._next = now + _LINE
            of = f" of {total}" if total else ""
            print(f"dibs: {what}: {done}{of}", file=sys.stderr, flush=True)

    def step(self, what: str) -> None:
        """Show what is running now, on a terminal only."""
        if self._bar and not self._quiet and time.monotonic() >= self._next:
            self._drawn = True
            text = f"{_ERASE}{what}"[: len(_ERASE) + _columns() - 1]
            print(text, end="", file=sys.stderr, flush=True)


def bar(what: str, done: int, total: int, columns: int) -> str:
    """Return a progress bar that fits into ``columns``."""
    if not total:
        return f"{what}: {done}"[: columns - 1]
    count = f" {done}/{total}"
    room = min(_WIDTH, columns - len(what) - len(count) - 4)
    if room < 1:
        return f"{what}{count}"[: columns - 1]
    full = room * done // max(total, 1)
    return f"{what} [{'#' * full}{'-' * (room - full)}]{count}"


def _columns() -> int:
    return shutil.get_terminal_size().columns
