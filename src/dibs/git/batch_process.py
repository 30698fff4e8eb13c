"""A git process that answers many requests, because starting git is expensive."""

from __future__ import annotations

import os
import select
import time

from dibs.errors import Unavailable
from dibs.git.run import end

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from dibs.git.calls import GitCalls

_CHUNK = 1 << 16


class BatchProcess:
    """A git process that reads requests and writes answers, one after the other.

    A request is written only after the previous answer has been read, so the two sides cannot block each
    other. The process starts with the first request.
    """

    __slots__ = ("_arguments", "_buffer", "_deadline", "_git", "_process", "_variables")

    def __init__(
        self, git: GitCalls, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> None:
        self._git = git
        self._arguments = arguments
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._deadline = 0.0

    def ask(self, question: bytes) -> None:
        """Send a request; the caller must read the whole answer before the next one."""
        if self._process is None:
            self._process = self._git.start(*self._arguments, variables=self._variables)
        assert self._process.stdin is not None
        self._deadline = time.monotonic() + self._git.timeout
        try:
            self._process.stdin.write(question)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None

    def until(self, mark: bytes) -> bytes:
        """Return the output up to ``mark``, without it."""
        while (at := self._buffer.find(mark)) < 0:
            self._read()
        found, self._buffer = self._buffer[:at], self._buffer[at + len(mark) :]
        return found

    def exactly(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        while len(self._buffer) < count:
            self._read()
        found, self._buffer = self._buffer[:count], self._buffer[count:]
        return found

    def object(self, name: str) -> tuple[str, bytes]:
        """Return the id and the content of an object; for ``cat-file --batch``."""
        self.ask(name.encode() + b"\n")
        words = self.until(b"\n").decode("utf-8", "replace").split()
        if len(words) != 3:  # noqa: PLR2004 - id, kind, size
            raise Unavailable(f"git object {name} is missing", code="GIT_FAILED")
        content = self.exactly(int(words[2]))
        self.exactly(1)
        return words[0], content

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        if not _is_readable(handle, self._deadline - time.monotonic()):
            self.close()
            raise Unavailable(f"git {self._name} timed out after {self._git.timeout:.0f}s")
        chunk = os.read(handle, _CHUNK)
        if not chunk:
            raise self._failed()
        self._buffer += chunk

    @property
    def _name(self) -> str:
        return next(
            word for word in self._arguments if not word.startswith("-") and "=" not in word
        )

    def _failed(self) -> Unavailable:
        """Return why the process ended; the next request starts another one."""
        process = self._process
        assert process is not None
        assert process.stderr is not None
        text = process.stderr.read().decode("utf-8", "replace").strip()
        self.close()
        last = text.splitlines()[-1] if text else f"exit status {process.returncode}"
        return Unavailable(f"git {self._name} failed: {last}")

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._buffer = self._process, None, b""
        if process is not None:
            end(process)


def _is_readable(handle: int, seconds: float) -> bool:
    """Wait until a pipe can be read; ``select`` fails in a process with more than 1024 open files."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))
