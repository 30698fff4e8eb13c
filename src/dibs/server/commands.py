"""Run a command of the CLI for a person or an agent on another machine, and stream what it prints.

The command runs in a process of its own, as the identity of the request; ``cli.remote.acting`` decides what
it may do there. A terminal on the other side gets a terminal here, so that colors and widths are right.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import secrets
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError, NotFound, Unavailable
from dibs.server.rest.dispatch import failure
from dibs.server.security.authorize import caller_for, check_named, served_project
from dibs.server.security.identity import IDENTITY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

PATH = "/api/v1/commands"
#: How many commands run at once; each is a process.
MOST_RUNNING = 32
#: Seconds that a command has to exit after an interrupt.
GRACE = 5.0
_MODULE = "dibs.cli.remote.acting"
_CHUNK = 1 << 16
_WIDEST, _TALLEST = 1_000, 1_000


class Terminal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which streams are terminals on the other side, and their size."""

    out: bool = False
    err: bool = False
    columns: int = 80
    rows: int = 24


class CommandBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command line, as it was typed on another machine."""

    argv: list[str]
    #: The current folder, relative to the root of the repository.
    folder: str = ""
    stdin: str = ""
    #: The content of files that the arguments name.
    files: dict[str, str] = {}
    terminal: Terminal = Terminal()


def command_routes(resident: Resident) -> list[Route]:
    """Return the routes that run and interrupt commands."""
    running = RunningCommands(resident)
    return [
        Route(PATH, running.run, methods=["POST"]),
        Route(PATH + "/{id}", running.interrupt, methods=["DELETE"]),
    ]


class RunningCommands:
    """The commands that this server runs now."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident
        self._running: dict[str, tuple[asyncio.subprocess.Process, RequestIdentity]] = {}
        self._decode = msgspec.json.Decoder(CommandBody).decode

    async def run(self, request: Request) -> Response:
        """Start a command; answer with lines of JSON: its id, its output, and its exit status."""
        try:
            identity: RequestIdentity = request.scope[IDENTITY]
            body = self._decode(await request.body())
            wanted = request.query_params.get("project", "")
            served = served_project(self._resident.projects, identity, wanted)
            project = served.project(request.query_params.get("worktree", ""))
            folder = beneath(project.place.repository.root, body.folder)
            caller = caller_for(identity, request.headers.get("dibs-agent", ""))
            tokens = self._resident.tokens
            await asyncio.to_thread(check_named, identity, caller, served, tokens)
            if len(self._running) >= MOST_RUNNING:
                raise Unavailable("the server runs too many commands", code="BUSY")
            order = {
                "argv": body.argv, "stdin": body.stdin, "files": body.files,
                "agent": caller.id, "human": caller.human, "scope": int(identity.scope),
            }  # fmt: skip
            await asyncio.to_thread(self._resident.observations.flush, served.id)
            child = await CommandProcess.start(order, folder, body.terminal)
        except msgspec.ValidationError as error:
            return failure(BadInput(str(error)))
        except msgspec.DecodeError as error:
            return failure(BadInput(f"the body is not valid JSON: {error}", code="JSON"))
        except DibsError as error:
            return failure(error)
        name = secrets.token_hex(8)
        self._running[name] = child.process, identity
        return StreamingResponse(self._lines(name, child), media_type="application/x-ndjson")

    async def _lines(self, name: str, child: CommandProcess) -> AsyncIterator[bytes]:
        """Yield the output; if the other side disconnects, interrupt the command."""
        try:
            yield _line(id=name)
            async for stream, text in child.output():
                yield _line(**{stream: text})
            yield _line(status=await child.process.wait())
        finally:
            self._running.pop(name, None)
            await asyncio.shield(end(child.process))

    async def interrupt(self, request: Request) -> Response:
        """Interrupt a command, which then ends as after Ctrl-C."""
        found = self._running.get(request.path_params["id"])
        identity: RequestIdentity = request.scope[IDENTITY]
        if found is None or found[1].caller.id != identity.caller.id:
            return failure(NotFound("no such command is running", code="NO_COMMAND"))
        with suppress(ProcessLookupError):
            found[0].send_signal(signal.SIGINT)
        return Response(b"{}", media_type="application/json")


class CommandProcess:
    """A running command and its output."""

    def __init__(self, process: asyncio.subprocess.Process, streams: dict[str, int]) -> None:
        self.process = process
        self._streams = streams

    @classmethod
    async def start(
        cls, order: dict[str, object], folder: str, terminal: Terminal
    ) -> CommandProcess:
        """Start a command in a folder."""
        ends = {"out": _pair(terminal.out, terminal), "err": _pair(terminal.err, terminal)}
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith("DIBS_")
        } | {"TERM": "xterm-256color", "PYTHONUNBUFFERED": "1"}
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", _MODULE, cwd=folder, env=environ, start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=ends["out"][1], stderr=ends["err"][1],
            )  # fmt: skip
        except OSError as error:
            for ours, _ in ends.values():
                os.close(ours)
            raise Unavailable(f"cannot start the command: {error.strerror}") from error
        finally:
            for _, theirs in ends.values():
                os.close(theirs)
        assert process.stdin is not None
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(order).encode())
            await process.stdin.drain()
            process.stdin.close()
        return cls(process, {name: ours for name, (ours, _) in ends.items()})

    async def output(self) -> AsyncIterator[tuple[str, str]]:
        """Yield what the command prints, with the name of the stream, until both are closed."""
        queue: asyncio.Queue[tuple[str, str | None]] = asyncio.Queue(maxsize=64)
        readers = [asyncio.create_task(_pump(n, h, queue)) for n, h in self._streams.items()]
        try:
            left = len(readers)
            while left:
                name, text = await queue.get()
                if text is None:
                    left -= 1
                else:
                    yield name, text
        finally:
            for reader in readers:
                reader.cancel()


async def _pump(name: str, handle: int, queue: asyncio.Queue[tuple[str, str | None]]) -> None:
    """Read one stream to its end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK)
    pipe = open(handle, "rb", buffering=0)  # noqa: SIM115, ASYNC230
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    try:
        # A terminal whose other end is closed reports an error instead of the end.
        with suppress(OSError):
            while part := await reader.read(_CHUNK):
                if text := decode(part):
                    await queue.put((name, text))
        await queue.put((name, None))
    finally:
        transport.close()


def _pair(wants_terminal: bool, terminal: Terminal) -> tuple[int, int]:
    """Return our end and the command's end of a pipe or a terminal."""
    if not wants_terminal:
        return os.pipe()
    import pty
    import termios
    import tty

    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    rows, columns = min(max(terminal.rows, 1), _TALLEST), min(max(terminal.columns, 1), _WIDEST)
    termios.tcsetwinsize(theirs, (rows, columns))
    return ours, theirs


async def end(process: asyncio.subprocess.Process) -> None:
    """Interrupt a command that still runs; kill it if it does not exit."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)


def beneath(root: str, folder: str) -> str:
    """Return a folder of the repository; refuse one outside of it."""
    found = "" if "\0" in folder else os.path.realpath(os.path.join(root, folder))
    inside = f"{found}/".startswith(f"{os.path.realpath(root).rstrip('/')}/")
    if not inside or not os.path.isdir(found):
        raise BadInput(
            f"the server's repository has no folder {printable(folder[:200])!r}",
            code="NO_FOLDER",
            field="folder",
            hint="run the command in a folder that the server has",
        )
    return found


def _line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"
