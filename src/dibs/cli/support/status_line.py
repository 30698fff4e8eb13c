"""Show on a terminal what a long command is doing: one line on standard error, redrawn in place.

Nothing is printed if standard error is not a terminal or the command prints JSON. A command that finishes
within a moment prints nothing either.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from dibs.cli.support.progress import bar
from dibs.cli.support.text import printable, span
from dibs.core.text.names import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: Wait this long before the first line, then redraw this often, in seconds.
PATIENCE, EVERY = 0.3, 0.5
#: The assumed width of a terminal that does not tell.
WIDTH = 80
_ERASE = "\r\x1b[K"


class StatusLine:
    """The status line of one command; call it with what the command does next."""

    def __init__(self, *, quiet: bool = False) -> None:
        """``quiet`` is for a command that prints JSON."""
        dumb = os.environ.get("TERM") == "dumb"
        self.shown = not quiet and not dumb and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._text = ""
        self._since = 0.0
        self._counts = (0, 0)
        self._drawn = False
        self._thread: threading.Thread | None = None

    def __call__(self, text: str) -> None:
        """Show ``text`` with the time that has passed, until the next call."""
        self.count(text, 0, 0)

    def count(self, text: str, done: int, total: int) -> None:
        """Show ``text`` with a bar: ``done`` of ``total``."""
        if not self.shown:
            return
        with self._lock:
            if text != self._text:
                self._since = time.monotonic()
            self._text, self._counts = text, (done, total)
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(
                target=self._redraw, name="dibs-status-line", daemon=True
            )
            self._thread.start()

    def __enter__(self) -> StatusLine:
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
        if self.shown:
            self._write(f"{printable(text)}\n")

    def stop(self) -> None:
        """Erase the line for good."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._drawn:
            self._write(_ERASE)
            self._drawn = False

    def _redraw(self) -> None:
        pause = PATIENCE
        while not self._stop.wait(pause):
            with self._lock:
                line = self._line()
            self._write(f"{_ERASE}{line}")
            self._drawn = True
            pause = EVERY

    def _line(self) -> str:
        """Return the line, cut to the width of the terminal."""
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH
        except OSError:
            columns = WIDTH
        done, total = self._counts
        text = printable(self._text)
        if total:
            return bar(text, done, total, columns)
        end = f" ({span(time.monotonic() - self._since)})"
        return cut(text, columns - 1 - len(end)) + end

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal is gone
            self._stop.set()
