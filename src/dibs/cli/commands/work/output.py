"""A command's output: passed on unchanged, with its end kept for the task's result."""

from __future__ import annotations

import os
from threading import Thread

from dibs.core.text.names import cut, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

#: How many bytes are kept, and how many lines and characters of them are recorded.
_KEPT, _LINES, _LONGEST = 64 * 1024, 20, 500
#: Seconds to wait for output that is still in the pipe after the command has ended.
_PATIENCE = 2.0


class CopiedOutput:
    """A pipe for one stream of a command; a thread copies it to ``target`` and keeps its end."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._kept = b""
        self._source, self.handle = os.pipe()
        self._thread = Thread(target=self._copy, daemon=True)

    def __enter__(self) -> CopiedOutput:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        # A process that left the command's group may keep the pipe open.
        self._thread.join(_PATIENCE)

    def close(self) -> None:
        """Close this process's end for writing, once the command has its own."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def lines(self) -> list[str]:
        """Return the last lines that are not empty, printable and cut."""
        text = self._kept.decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return [cut(printable(line), _LONGEST) for line in lines[-_LINES:]]

    def _copy(self) -> None:
        try:
            while chunk := os.read(self._source, 65_536):
                self._kept = (self._kept + chunk)[-_KEPT:]
                self._pass_on(chunk)
        except OSError:
            pass  # nobody reads this: the command gets the same error
        finally:
            os.close(self._source)

    def _pass_on(self, chunk: bytes) -> None:
        while chunk:
            chunk = chunk[os.write(self._target, chunk) :]
