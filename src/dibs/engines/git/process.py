"""Git in the private repository of the engine: fetches, pushes, and reading of packed objects."""

from __future__ import annotations

import os
import subprocess
import time

from dibs.engines.git import wire
from dibs.engines.git.errors import OTHER_HASH
from dibs.git.run import GitResult as Result
from dibs.git.run import TimedOut, end, environment, finish, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Git", "Reader", "Result", "TimedOut"]

_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "protocol.version=2", "-c", "push.followTags=false",
    "-c", "push.gpgSign=false", "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false",
)  # fmt: skip


class Git:
    """Runs git in one repository."""

    __slots__ = ("_environ", "_repo")

    def __init__(
        self, repo: str, settings: Iterable[tuple[str, str]] = (), wait: float = 10.0
    ) -> None:
        self._repo = repo
        self._environ = environment(os.environ, settings, wait)

    def run(self, *arguments: str, deadline: float) -> Result:
        """Run git to its end; ``TimedOut`` if that is not reached at ``deadline`` (monotonic)."""
        return finish(self._start(arguments, subprocess.DEVNULL), None, deadline)

    def receive(
        self, folder: str, ref: str, move: tuple[str, str], pack: bytes, *, deadline: float
    ) -> Result:
        """Hand a pack to ``git receive-pack`` of a repository of this machine, as ``git push`` would.

        The answer is put in the words of ``git push --porcelain``, or starts with ``ok``.
        """
        process = spawn(
            ["receive-pack", "--", folder],
            environ=self._environ,
            folder="/",
            stdin=subprocess.PIPE,
        )
        old, new = move
        try:
            found = wire.advertised(process, ref, len(new), deadline)
            if found is not None and (found or "0" * len(old)) != old:
                return Result(1, b"!\t\t[rejected] (stale info)", "")
            order = b"" if found is None else wire.order(old, new, ref) + pack
            left = max(0.05, deadline - time.monotonic())
            out, err = process.communicate(order, timeout=left)
        except wire.OtherHash:
            return Result(1, b"", f"fatal: the receiving end {OTHER_HASH}")
        except subprocess.TimeoutExpired:
            raise TimedOut from None
        finally:
            end(process)
        told = err.decode("utf-8", "replace")
        return Result(1, wire.report(out, ref), told) if found is not None else Result(1, b"", told)

    def start_reader(self) -> Reader:
        """Start a process that reads packed objects."""
        return Reader(self._start(("cat-file", "--batch"), subprocess.PIPE))

    def _start(self, arguments: tuple[str, ...], stdin: int) -> subprocess.Popen[bytes]:
        argv = [*_SETTINGS, f"--git-dir={self._repo}", *arguments]
        return spawn(argv, environ=self._environ, folder=self._repo, stdin=stdin)


class Reader:
    """A ``git cat-file --batch``."""

    __slots__ = ("_process",)

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def read(self, oid: str, deadline: float) -> tuple[str, bytes] | None:
        """Return kind and content of an object; None if it is not there."""
        try:
            return self._read(oid, deadline)
        except BrokenPipeError:
            return None
        except subprocess.TimeoutExpired:
            raise TimedOut from None

    def _read(self, oid: str, deadline: float) -> tuple[str, bytes] | None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(oid.encode() + b"\n")
        stdin.flush()
        data = bytearray()
        while b"\n" not in data:
            if not (came := wire.more(stdout.fileno(), deadline)):
                return None
            data += came
        start = data.index(b"\n") + 1
        words = data[:start].split()
        if len(words) != 3:  # noqa: PLR2004 - "<oid> <kind> <size>", or "<oid> missing"
            return None
        end = start + int(words[2])
        while len(data) <= end:
            if not (came := wire.more(stdout.fileno(), deadline)):
                return None
            data += came
        return words[1].decode(), bytes(data[start:end])

    def close(self) -> None:
        """End the process."""
        end(self._process)
