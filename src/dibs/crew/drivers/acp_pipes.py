"""Exchange JSON-RPC messages with an agent's process through its pipes, one message per line.

The SDK's own streams stop for good at a message with an unexpected shape, collect a line without an end in
memory, and report both on the root logger. Agents print such things, so this module ignores and logs them.
"""

from __future__ import annotations

import asyncio
import json

from acp.meta import CLIENT_METHODS
from acp.schema import SessionNotification
from pydantic import ValidationError

from dibs.core.text.names import cut, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from typing import Any

#: The longest line: agents send whole files in one message.
LONGEST_LINE = 16 << 20
#: The most characters of an ignored line in the log.
_LOGGED = 200
_UPDATE = CLIENT_METHODS["session_update"]


class AcpPipes:
    """The transport of a connection of the SDK."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        source: asyncio.ReadTransport,
        writer: asyncio.StreamWriter,
        note: Callable[[str], None],
    ) -> None:
        self._reader = reader
        self._source = source
        self._writer = writer
        self._note = note

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; a lost answer is dropped, because the agent has closed its input."""
        line = json.dumps(message, separators=(",", ":"), default=str) + "\n"
        try:
            if self._writer.is_closing():
                raise ConnectionResetError("the agent closed its input")
            self._writer.write(line.encode("ascii"))
            await self._writer.drain()
        except ConnectionError:
            if "method" in message:
                raise

    async def receive(self) -> dict[str, Any] | None:
        """Return the next valid message, or None at the end of the agent's output."""
        while line := await self._line():
            await asyncio.sleep(0)  # handle each message before the next one is read
            message = _message(line)
            if message is not None:
                return message
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._note(f"ignored output: {cut(printable(text[: _LOGGED + 1]), _LOGGED)}")
        return None

    async def close(self) -> None:
        """Close both pipes without waiting for an agent that does not read."""
        if not self._writer.is_closing():
            self._writer.transport.abort()
        self._source.close()
        await asyncio.sleep(0)

    async def _line(self) -> bytes:
        """Return the next line; of a line that is too long, only the last part."""
        while True:
            try:
                return await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                return error.partial
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
                self._note(f"ignored {error.consumed} bytes of a line without an end")


async def open_pipes(process: Popen[bytes], note: Callable[[str], None]) -> AcpPipes:
    """Connect to the pipes of a process in the running loop."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LONGEST_LINE, loop)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader, loop=loop), process.stdout
    )
    sink, control = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop),
        process.stdin,
    )
    return AcpPipes(reader, source, asyncio.StreamWriter(sink, control, None, loop), note)


def _message(line: bytes) -> dict[str, Any] | None:
    """Return the message in a line, or None if the SDK could not handle it."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        return _response(message)
    params = message.get("params")
    if not isinstance(message["method"], str):
        return None
    if isinstance(params, dict):
        params.pop("_meta", None)  # the SDK would pass its keys as arguments
    if "id" in message or message["method"].startswith("_"):
        return message
    return message if message["method"] == _UPDATE and _is_update(params) else None


def _response(message: dict[str, Any]) -> dict[str, Any] | None:
    if not isinstance(message.get("id"), int):
        return None
    if not isinstance(message.get("error") or {}, dict):
        message["error"] = {"message": str(message["error"])}
    return message


def _is_update(params: object) -> bool:
    try:
        SessionNotification.model_validate(params)
    except ValidationError:
        return False
    return True
