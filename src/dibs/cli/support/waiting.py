"""Show whom a claim is waiting for, its position in the queue, and the time left."""

from __future__ import annotations

import os
import sys

from dibs.cli.support.tables import page_width
from dibs.cli.support.text import span
from dibs.core.text.names import cut
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Conflict


class WaitLine:
    """One line on standard error: redrawn on a terminal, elsewhere printed again after a change.

    It uses no escape codes, so it needs nothing from the terminal and cannot leak a color.
    """

    def __init__(self, reader: Caller, *, silent: bool) -> None:
        self._reader = reader
        self._silent = silent
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = ""

    def __enter__(self) -> WaitLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live and self._shown:
            self._write(f"\r{' ' * len(self._shown)}\r")

    def __call__(self, conflicts: Sequence[Conflict], left: float) -> None:
        """Show what is in the way now, and how long the wait goes on at most."""
        if self._silent or not conflicts:
            return
        if not self._live:
            self._print_change(conflicts, left)
            return
        text = f"{self._about(conflicts)}, {span(left)} left (Ctrl-C to stop)"
        before, self._shown = len(self._shown), cut(text, page_width(sys.stderr) - 1)
        self._write(f"\r{self._shown.ljust(before)}")

    def _print_change(self, conflicts: Sequence[Conflict], left: float) -> None:
        about = self._about(conflicts)
        if about != self._shown:
            self._shown = about
            quoted = Quoting(self._reader, [str(conflicts)])
            lines = quoted.page([f"{self._about(conflicts, quoted)}, for at most {span(left)}"])
            self._write("".join(f"dibs: {line}\n" for line in lines))

    def _about(self, conflicts: Sequence[Conflict], quoted: Quoting | None = None) -> str:
        from dibs.core.text.names import printable

        first, rest = conflicts[0], len({c.holder for c in conflicts}) - 1
        held = quoted.path(first.held, first.holder) if quoted else printable(first.held)
        others = f" and {rest} more" if rest else ""
        position = 1 + len({c.ticket for c in conflicts if c.ticket})
        return f"waiting for {first.holder} ({held}){others}, position {position} in the queue"

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # nobody reads it; the claim goes on
            self._silent = True
