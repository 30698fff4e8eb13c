"""Handlers that installed Python packages provide, as entry points of the group ``dibs.handlers``.

The name of an entry point is the kind of its events, or that, a dot, and any name: ``commit.lint``. Its
function receives the event and the root of the working tree. It runs in a process of its own, which is ended
when it takes too long, so nothing that it does can harm the server.
"""

from __future__ import annotations

import subprocess
import sys
import time

from dibs.core.claims.ledger import Kind
from dibs.core.text.durations import show_span
from dibs.core.text.names import printable
from dibs.local.processes import end_group
from dibs.services.pipeline.handlers import HandlerFailed, HandlerStopped, event_text, surroundings
from dibs.startup.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.core.claims.ledger import Entry

GROUP = "dibs.handlers"
#: How long a call may take, and how long a process gets to exit, in seconds.
TIMEOUT, GRACE = 300.0, 1.0
_POLL = 0.02


def installed() -> list[tuple[str, str]]:
    """Return the name of each installed handler and the kind of its events; skip unknown kinds."""
    from importlib.metadata import entry_points

    kinds = frozenset(Kind)
    named = {point.name for point in entry_points(group=GROUP)}
    return [(name, kind) for name in sorted(named) if (kind := name.partition(".")[0]) in kinds]


class PythonHandler:
    """One entry point in its own process, which starts with the first event and lives on."""

    def __init__(
        self,
        name: str,
        root: str,
        *,
        stopping: Callable[[], bool],
        timeout: float = TIMEOUT,
    ) -> None:
        self._name = name
        self._root = root
        self._stopping = stopping
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None

    def handle(self, handler: str, entry: Entry) -> None:
        """Call the function with an event; raise ``HandlerFailed`` if it raises or does not return."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(event_text(handler, entry))
            process.stdin.flush()
        except OSError:
            self.close()
            raise HandlerFailed("its process ended") from None
        answer = self._answer(process)
        if "error" in answer:
            raise HandlerFailed(
                printable(str(answer["error"])),
                [printable(str(line)) for line in answer.get("trace", ())],
            )

    def close(self) -> None:
        """End its process."""
        process, self._process = self._process, None
        if process is not None:
            end_group(process, GRACE)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close(pipe)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            # -P: a module in the working tree must not replace one of Python's own
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with our own module
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "dibs.services.pipeline.child",
                    self._name,
                    self._root,
                ],
                cwd=self._root,
                env=surroundings({}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Return the answer of the process, which is one line; end the process if none comes."""
        import os
        import selectors

        assert process.stdout is not None
        until = time.monotonic() + self._timeout
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if self._stopping():
                    self.close()
                    raise HandlerStopped
                if time.monotonic() >= until:
                    self.close()
                    raise HandlerFailed(f"timed out after {show_span(self._timeout)}")
                if selector.select(_POLL):
                    chunk = os.read(process.stdout.fileno(), 65_536)
                    if not chunk:
                        self.close()
                        raise HandlerFailed("its process ended")
                    line += chunk
        answer: dict[str, Any] = loads(line.decode("utf-8", "replace"))
        return answer


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:
        return
