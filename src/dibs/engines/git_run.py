"""Starting git: with nothing of the caller's surroundings that could change what it does.

Every call has a deadline, at which the whole group of processes is killed. Nothing is asked at a terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time

from dibs.core.values import Record
from dibs.engines import git_wire as wire
from dibs.engines.git_errors import OTHER_HASH
from dibs.errors import Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROTOCOLS = "file:git:http:https:ssh"

# Of the variables that git reads, these only say how to reach a remote.
_KEPT = frozenset(
    (
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
        "GIT_SSL_NO_VERIFY",
        "GIT_SSL_VERSION",
        "GIT_HTTP_USER_AGENT",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_HTTP_LOW_SPEED_LIMIT",
        "GIT_HTTP_LOW_SPEED_TIME",
    )
)
_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "protocol.version=2", "-c", "push.followTags=false",
    "-c", "push.gpgSign=false", "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false",
)  # fmt: skip


class Result(Record):
    """What a git process said."""

    code: int
    out: bytes
    err: str


class TimedOut(Exception):
    """The process did not end in time and was killed; what it did meanwhile is not known."""


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
        process = self._start(arguments, subprocess.DEVNULL)
        try:
            out, err = process.communicate(timeout=max(0.05, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimedOut from None
        finally:
            _end(process)
        return Result(process.returncode, out, err.decode("utf-8", "replace"))

    def receive(
        self, folder: str, ref: str, move: tuple[str, str], pack: bytes, *, deadline: float
    ) -> Result:
        """Hand a pack to ``git receive-pack`` of a repository of this machine, as ``git push`` would.

        The answer is put in the words of ``git push --porcelain``, or starts with ``ok``.
        """
        process = self._spawn(["git", "receive-pack", "--", folder], subprocess.PIPE, folder="/")
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
            _end(process)
        told = err.decode("utf-8", "replace")
        return Result(1, wire.report(out, ref), told) if found is not None else Result(1, b"", told)

    def start_reader(self) -> Reader:
        """Start a process that reads packed objects."""
        return Reader(self._start(("cat-file", "--batch"), subprocess.PIPE))

    def _start(self, arguments: tuple[str, ...], stdin: int) -> subprocess.Popen[bytes]:
        argv = ["git", *_SETTINGS, f"--git-dir={self._repo}", *arguments]
        return self._spawn(argv, stdin, folder=self._repo)

    def _spawn(self, argv: list[str], stdin: int, *, folder: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - an argument list, never a shell
                argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environ,
                cwd=folder,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise Misconfigured(
                "git is not installed, or not on the PATH", code="GIT_MISSING", hint="install git"
            ) from error


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
        _end(self._process)


def environment(
    environ: Mapping[str, str], settings: Iterable[tuple[str, str]], wait: float
) -> dict[str, str]:
    """Return the variables that a git process of ours gets."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    kept.update(
        LC_ALL="C",
        LANGUAGE="",
        GIT_TERMINAL_PROMPT="0",
        GIT_ALLOW_PROTOCOL=PROTOCOLS,
        GIT_OPTIONAL_LOCKS="0",
        GIT_NO_REPLACE_OBJECTS="1",
        GCM_INTERACTIVE="never",
    )
    if "GIT_SSH" not in kept:
        seconds = max(1, int(wait))
        kept.setdefault("GIT_SSH_COMMAND", f"ssh -o BatchMode=yes -o ConnectTimeout={seconds}")
    pairs = list(settings)
    kept["GIT_CONFIG_COUNT"] = str(len(pairs))
    for place, (name, value) in enumerate(pairs):
        kept[f"GIT_CONFIG_KEY_{place}"] = name
        kept[f"GIT_CONFIG_VALUE_{place}"] = value
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of a process behind: neither its children nor its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()  # macOS refuses to signal a group that is just ending
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()
