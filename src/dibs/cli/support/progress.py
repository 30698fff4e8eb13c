"""Progress of long operations: a line redrawn in place on a terminal, a line now and then elsewhere.

Everything goes to standard error, so that output can be piped. An operation that finishes within a moment
shows nothing, and neither does a command that prints JSON.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from dibs.cli.support.tables import page_width
from dibs.cli.support.text import printable, span
from dibs.core.text.names import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: Seconds between two redraws on a terminal, and between two lines elsewhere.
_REDRAW, _LINE = 0.2, 1.0
#: Seconds before anything is shown.
_DELAY = 0.3
#: The longest bar, in characters.
_WIDTH = 30
_ERASE = "\r\x1b[K"


class Progress:
    """What a command is doing and how much is done; a context manager that erases its line at the end."""

    def __init__(self, *, quiet: bool = False, delay: float = _DELAY) -> None:
        """``quiet`` is for a command that prints JSON."""
        self._quiet = quiet
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + (delay if self._live else max(delay, _LINE))
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._now = ("", 0, 0)
        self._since = 0.0
        self._drawn = False

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """Show that ``done`` of ``total`` steps are finished; without numbers, the time that has passed."""
        if self._quiet or self._ended.is_set():
            return
        with self._lock:
            if what != self._now[0]:
                self._since = time.monotonic()
                self._next = min(self._next, self._since) if self._drawn else self._next
            self._now = (what, done, total)
            self._draw()
        if self._live and self._thread is None:
            self._thread = threading.Thread(target=self._redraw, name="progress", daemon=True)
            self._thread.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def finish(self, text: str) -> None:
        """Replace the line with a last one that stays, before another program prints."""
        self.stop()
        if self._live and not self._quiet:
            self._write(f"{printable(text)}\n")

    def stop(self) -> None:
        """Erase the line, and show no other."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._drawn:
            self._write(_ERASE)
            self._drawn = False

    def _redraw(self) -> None:
        while not self._ended.wait(_REDRAW):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        """Draw the line if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        what, done, total = self._now
        if self._live:
            self._next = now + _REDRAW / 2
            self._drawn = True
            self._write(_ERASE + line(what, done, total, now - self._since, page_width(sys.stderr)))
        elif done:
            self._next = now + _LINE
            of = f" of {total}" if total else ""
            self._write(f"dibs: {printable(what)}: {done}{of}\n")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal was closed
            self._ended.set()


def line(what: str, done: int, total: int, elapsed: float, columns: int) -> str:
    """Return one line that fits into ``columns``: a bar, a count, or the time that has passed."""
    what, room = printable(what), columns - 1
    if not total:
        end = f": {done}" if done else f" ({span(elapsed)})"
        return cut(what, max(room - len(end), 1)) + end if room > len(end) else cut(what, room)
    count = f" {done}/{total}"
    width = min(_WIDTH, room - len(what) - len(count) - 3)
    if width < 1:
        return cut(f"{what}{count}", room)
    full = width * done // total
    return f"{what} [{'#' * full}{'-' * (width - full)}]{count}"
