"""One process of an agent with its pipes: a thread reads what it prints, another writes to it.

Neither side can block the runner: an agent may print without end, or never read.
"""

from __future__ import annotations

import codecs
import os
import queue
import subprocess
import threading
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 65_536
#: How many texts wait for an agent that does not read; more are dropped.
_WAITING = 100
#: How long the last output is waited for after a process has ended, in seconds.
_DRAIN = 1.0


def copy_text(handle: int, heard: Callable[[str], object]) -> None:
    """Call ``heard`` with the text that a file contains, part by part, until it ends or is closed."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with suppress(OSError, ValueError):
        while data := os.read(handle, _CHUNK):
            if text := decode(data):
                heard(text)
        if text := decode(b"", final=True):
            heard(text)


class PipedProcess:
    """A running process; ``heard`` is called with what it prints, in a thread."""

    def __init__(self, process: subprocess.Popen[bytes], heard: Callable[[str], object]) -> None:
        self.process = process
        self._heard = heard
        self._texts: queue.Queue[str | None] = queue.Queue(_WAITING)
        #: When it last printed something.
        self.last_output = time.monotonic()
        self._reader = threading.Thread(target=self._read, name="output", daemon=True)
        self._writer = threading.Thread(target=self._write, name="input", daemon=True)
        self._reader.start()
        self._writer.start()

    def send(self, text: str) -> bool:
        """Write text to its standard input; return False if too much waits already."""
        try:
            self._texts.put_nowait(text)
        except queue.Full:
            return False
        return True

    def end_input(self) -> None:
        """Close its standard input after what was sent."""
        with suppress(queue.Full):
            self._texts.put_nowait(None)

    def wait(self, timeout: float) -> int | None:
        """Return its exit status, negative for a signal; None if it still runs after ``timeout`` seconds."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(_DRAIN)
        return status

    def close(self) -> None:
        """Close the pipes; whatever still reads or writes fails."""
        self.end_input()
        for stream in (self.process.stdout, self.process.stdin):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        copy_text(self.process.stdout.fileno(), self._hear)

    def _hear(self, text: str) -> None:
        self.last_output = time.monotonic()
        self._heard(text)

    def _write(self) -> None:
        stream = self.process.stdin
        assert stream is not None
        with suppress(OSError, ValueError):
            while (text := self._texts.get()) is not None:
                data = memoryview(text.encode("utf-8", "replace"))
                while data:
                    data = data[os.write(stream.fileno(), data) :]
        with suppress(OSError, ValueError):
            stream.close()
