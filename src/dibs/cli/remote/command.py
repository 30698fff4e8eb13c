"""Run a command on the server that ``DIBS_SERVER`` names, and print what it prints."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from dibs.cli.support import INTERRUPTED
from dibs.client.client import Client
from dibs.client.connection import PROJECT, SERVER, TOKEN, TOKEN_FILE
from dibs.errors import BadInput, DibsError, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from http.client import HTTPResponse
    from typing import Any

#: The longest standard input and file that are sent, in bytes.
MOST_SENT = 512 * 1024
#: What to do on this side; the server's own hints are about HTTP.
_HINTS = {
    "AUTH": f"set {TOKEN} or {TOKEN_FILE}; on the server, dibs token new creates one",
    "PROJECT_NEEDED": f"set {PROJECT}",
}


def send(words: list[str], args: Namespace) -> int:
    """Run a command on the server; return its exit status."""
    if getattr(args, "repo", ""):
        raise BadInput(f"--repo does not work with {SERVER}", field="repo", hint=f"set {PROJECT}")
    with RemoteCommand(words, args) as command:
        if words[0] == "run":
            from dibs.cli.remote.run import hold

            return hold(command, args)
        return command.finish()


class RemoteCommand:
    """A command that runs on the server."""

    def __init__(self, words: list[str], args: Namespace) -> None:
        if words[0] == "run" and "--" in words:
            reason = args.reason or " ".join(args.command)[:200]
            words = [*words[: words.index("--")], "--reason", reason]
        self._client = Client(agent="")
        body = {
            "argv": words,
            "folder": _folder(),
            "stdin": _stdin(words, args),
            "files": _files(args),
            "terminal": _terminal(),
        }
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        self._response: HTTPResponse = self._client.open(
            "POST", "/commands", data, headers, timeout=None
        )
        if self._response.status != 200:  # noqa: PLR2004
            from dibs.client.client import error_of

            error = error_of(_parsed(self._response.read()), self._response.status)
            error.hint = _HINTS.get(error.code, error.hint)
            raise error
        self._id = ""
        self._status: int | None = None

    def __enter__(self) -> RemoteCommand:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def finish(self) -> int:
        """Print the output until the command ends; return its exit status.

        Ctrl-C interrupts the command there; a second one ends this process.
        """
        import signal

        def interrupt(*_: object) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.interrupt()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            for part in self.parts():
                show(part)
        finally:
            signal.signal(signal.SIGINT, before)
        if self._status is None:
            raise Unknown(
                "the connection to the server was lost before the command ended",
                hint="look at what happened: dibs log",
            )
        return INTERRUPTED if self._status < 0 else self._status

    def parts(self) -> Iterator[dict[str, str]]:
        """Yield each part of the output as it arrives."""
        while line := self._line():
            told = _parsed(line)
            self._id = told.get("id", self._id)
            self._status = told.get("status", self._status)
            yield told

    def _line(self) -> bytes:
        try:
            return self._response.readline()
        except OSError:
            return b""

    def interrupt(self) -> None:
        """Interrupt the command on the server; its output continues until it ends."""
        with suppress(DibsError), Client() as other:
            other.call("DELETE", f"/commands/{self._id}")


def show(part: dict[str, str]) -> None:
    """Print a part of the output."""
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        if name in part:
            stream.write(part[name])
            stream.flush()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Unavailable("the answer is not from a Dibs server", code="SERVER_URL")
    return told


def _folder() -> str:
    """Return the current folder, relative to the root of its repository."""
    from dibs.local.repository import find

    try:
        return find("").subdir
    except DibsError:
        return ""


def _stdin(words: list[str], args: Namespace) -> str:
    """Return standard input, if the command reads it."""
    reads = "-" in words or (words[0] == "say" and not getattr(args, "words", True))
    if not reads or sys.stdin.isatty():
        return ""
    given = sys.stdin.buffer.read(MOST_SENT + 1)
    return _text(given, "standard input")


def _files(args: Namespace) -> dict[str, str]:
    """Return the files of this machine that the arguments name, with their content."""
    named = getattr(args, "file", None) or []
    sent = {}
    for name in [named] if isinstance(named, str) else named:
        if name != "-" and os.path.isfile(name):
            with open(name, "rb") as file:
                sent[name] = _text(file.read(MOST_SENT + 1), name)
    return sent


def _text(given: bytes, name: str) -> str:
    if len(given) > MOST_SENT:
        raise BadInput(f"{name} is longer than {MOST_SENT // 1024} KiB", code="LIMIT")
    return given.decode("utf-8", "replace")


def _terminal() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
        if stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR"):
            with suppress(OSError):
                size = os.get_terminal_size(stream.fileno())
                found |= {name: True, "columns": size.columns, "rows": size.lines}
    return found
