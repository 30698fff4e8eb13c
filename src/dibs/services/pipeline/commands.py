"""Run a user's command for an event: the event is on its standard input and in its environment."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time

from dibs.core.text.durations import show_span
from dibs.core.text.names import printable, quote
from dibs.core.text.secrets import mask
from dibs.local.processes import end_group
from dibs.services.pipeline.handlers import HandlerFailed, HandlerStopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: How long a command gets to exit after the signal to do so, in seconds.
GRACE = 2.0
#: How much of its output is kept: the last lines.
_BYTES, _LINES = 4_096, 8
_POLL = 0.05


def run_command(
    words: Sequence[str],
    folder: str,
    given: bytes,
    variables: Mapping[str, str],
    *,
    timeout: float,
    stopping: Callable[[], bool],
) -> None:
    """Run a command to its end, in its own process group and without a shell; raise if it fails."""
    with tempfile.TemporaryFile() as source:  # a pipe would block if the command does not read it
        source.write(given)
        source.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - a human allowed it, and no shell reads it
                list(words),
                cwd=folder,
                env=dict(variables),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise HandlerFailed(f"cannot run {quote(words[0])}: {why}") from None
    assert process.stdout is not None
    tail = _Tail(process.stdout.fileno())
    try:
        how = _watch(process, tail, timeout, stopping)
    finally:
        end_group(process, GRACE)
        tail.drain()
        tail.close()
        process.stdout.close()
    if how:
        raise HandlerFailed(how, tail.lines())
    code = process.returncode
    if code:
        how = f"exit status {code}" if code > 0 else f"killed by signal {-code}"
        raise HandlerFailed(how, tail.lines())


def _watch(
    process: subprocess.Popen[bytes], tail: _Tail, timeout: float, stopping: Callable[[], bool]
) -> str:
    """Wait until a command exits; return why it must end before that, or an empty text."""
    until = time.monotonic() + timeout
    while process.poll() is None:
        if stopping():
            raise HandlerStopped
        if time.monotonic() >= until:
            return f"timed out after {show_span(timeout)}"
        tail.read(_POLL)
    return ""


class _Tail:
    """Reads a pipe, and keeps the end of what came out of it."""

    def __init__(self, handle: int) -> None:
        os.set_blocking(handle, False)
        self._handle = handle
        self._kept = b""
        self._open = True
        self._selector = selectors.DefaultSelector()
        self._selector.register(handle, selectors.EVENT_READ)

    def read(self, patience: float) -> None:
        """Read what is there, or wait up to ``patience`` seconds for more."""
        if not self._open:
            time.sleep(patience)
        elif self._selector.select(patience):
            self._more()

    def drain(self) -> None:
        """Read what is left after the command exited, but not what a stray child still writes."""
        for _ in range(64):
            if not self._open or not self._more():
                return

    def lines(self) -> list[str]:
        """Return the last lines, without secrets."""
        text = mask(self._kept.decode("utf-8", "replace"))
        return [printable(line)[:300] for line in text.splitlines() if line.strip()][-_LINES:]

    def close(self) -> None:
        """Stop to watch the pipe."""
        self._selector.close()

    def _more(self) -> bool:
        try:
            chunk = os.read(self._handle, 65_536)
        except BlockingIOError:
            return False
        self._open = bool(chunk)
        self._kept = (self._kept + chunk)[-_BYTES:]
        return self._open
