"""The log of one agent: what it prints, without terminal escapes, in files of limited size."""

from __future__ import annotations

import codecs
import os
import re
import threading
import time
from contextlib import suppress

from dibs.core.text.names import printable
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The size of a log file, and how many older ones are kept.
MOST_BYTES, OLDER = 2_000_000, 2
NAME = "output.log"
#: How much of the end of a log is read at most in one call.
MOST_READ = 256 * 1024
#: Terminal escapes: control sequences, operating system commands, and short ones.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
#: The longest escape that is waited for.
_LONGEST_ESCAPE = 256


class LogPart(Record):
    """A part of a log: the text, where the next part starts, and the size of the file."""

    text: str
    offset: int
    size: int
    #: Identifies the file: after a rotation, offsets start anew.
    file: int = 0


class AgentLog:
    """Writes the log of one agent; thread-safe. ``keep`` recent characters are kept in memory."""

    def __init__(
        self, folder: str, *, most: int = MOST_BYTES, keep: int = 4_000,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._path = os.path.join(folder, NAME)
        self._most = most
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - open until ``close``
        self._size = os.fstat(self._file.fileno()).st_size
        self._pending = ""
        self._at_start = True
        self.recent = ""

    def write(self, text: str) -> None:
        """Add what the agent printed; an escape that is split over two calls is removed, too."""
        with self._lock:
            text = self._pending + text
            cut = text.rfind("\x1b")
            whole = cut < 0 or len(text) - cut > _LONGEST_ESCAPE or _ESCAPE.match(text, cut)
            text, self._pending = (text, "") if whole else (text[:cut], text[cut:])
            self._add(_CONTROLS.sub("", _ESCAPE.sub("", text)))

    def note(self, line: str) -> None:
        """Add a line by Dibs itself, with the time."""
        at = time.strftime("%H:%M:%S", time.localtime(self._clock()))
        with self._lock:
            self._add(f"{'' if self._at_start else chr(10)}[dibs {at}] {printable(line)}\n")

    def close(self) -> None:
        """Close the file."""
        with self._lock, suppress(OSError):
            self._file.close()

    def _add(self, text: str) -> None:
        if not text:
            return
        self.recent = (self.recent + text)[-self._keep :]
        self._at_start = text.endswith("\n")
        data = text.encode("utf-8", "replace")
        for start in range(0, len(data), self._most):
            part = data[start : start + self._most]
            if self._size and self._size + len(part) > self._most:
                self._rotate()
            with suppress(OSError, ValueError):  # a full disk must not stop the agent
                self._size += self._file.write(part)

    def _rotate(self) -> None:
        with suppress(OSError):
            for number in range(OLDER, 0, -1):
                newer = f"{self._path}.{number - 1}" if number > 1 else self._path
                if os.path.exists(newer):
                    os.replace(newer, f"{self._path}.{number}")
            self._file.close()
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - open until ``close``
            self._size = 0


def read_log(
    folder: str, offset: int | None = None, limit: int = MOST_READ, file: int = 0
) -> LogPart:
    """Return a part of an agent's log from ``offset``, or its end; of another ``file``, from the start."""
    limit = max(1, min(limit, MOST_READ))
    try:
        with open(os.path.join(folder, NAME), "rb", opener=regular) as log:
            found = os.fstat(log.fileno())
            if file and file != found.st_ino:
                offset = 0
            size = found.st_size
            start = max(0, size - limit) if offset is None else min(max(0, offset), size)
            log.seek(start)
            data = log.read(limit)
    except FileNotFoundError:
        return LogPart("", 0, 0)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=start + len(data) >= size)
    return LogPart(text, start + len(data) - len(decoder.getstate()[0]), size, found.st_ino)
