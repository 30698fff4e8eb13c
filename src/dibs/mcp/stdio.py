"""Serve one agent over standard input and output, one message per line.

Meanwhile, anything printed to standard output goes to standard error. A thread reads the input, so that its
end is noticed at once. Lines have a maximum length; an invalid one is answered, and reading continues.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.shared.message import SessionMessage

from dibs.api.client import Dibs
from dibs.core.claims.agents import heartbeat_every
from dibs.local.heartbeat import Heartbeat
from dibs.local.signals import not_ignored
from dibs.mcp.callers import of_process
from dibs.mcp.framing import MOST_BYTES, TOO_LONG, Fault, Flight, parse
from dibs.mcp.server import build
from dibs.project.trees import OpenTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from dibs.errors import DibsError
    from dibs.mcp.server import Context

    Sent = MemoryObjectSendStream[SessionMessage | Exception]

#: How many messages to buffer before the reader blocks.
_BUFFER = 64
#: How long to wait for running calls after the input ends.
_GRACE = 1.0


class _Local:
    """The transport of a process that serves one agent."""

    def __init__(self, repo: str) -> None:
        self.tree = OpenTree(repo)
        self.hearers: dict[str, Callable[[bool], object]] = {}
        self._at_work = 0
        self._still = threading.Condition()
        self._last: Dibs | None = None
        self._keeper: Heartbeat | None = None

    def begin(self) -> None:
        """Record that a call started."""
        with self._still:
            self._at_work += 1

    def end(self) -> None:
        """Record that a call ended."""
        with self._still:
            self._at_work -= 1
            self._still.notify_all()

    def calm(self) -> None:
        """Wait briefly for running calls; their answers have no reader."""
        with self._still:
            self._still.wait_for(lambda: self._at_work == 0, _GRACE)

    def dibs(self, ctx: Context) -> Dibs:
        """Return the project as this process's agent sees it."""
        project = self.tree.project()
        self._last = found = Dibs(project, of_process(ctx, os.environ, project).caller)
        every = project.config.heartbeat
        if every and self._keeper is None:
            self._keeper = Heartbeat(self._keep, heartbeat_every(every, project.config.ttl))
            self._keeper.start()
        return found

    def _keep(self) -> None:
        """Renew the agent's claims: this process runs as long as the agent does."""
        if self._last is not None:
            self._last.project.agents.keep(self._last.caller)

    def failed(self, error: DibsError) -> None:
        """Pass on a call's error."""
        self.tree.failed(error)

    def after(self, ctx: Context, hear: Callable[[bool], object]) -> None:
        """Call ``hear`` once the answer to this request is written."""
        self.hearers[str(ctx.request_id)] = hear


def run(repo: str) -> None:
    """Serve until the input ends."""
    surface = _Local(repo)
    wire_in, wire_out = _take_streams()
    try:
        anyio.run(_serve, surface, wire_in, wire_out)
    finally:
        surface.tree.close()


def _take_streams() -> tuple[BinaryIO, int]:
    """Reserve standard input and output for the protocol; other output goes to standard error."""
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(wire_in, "rb", buffering=1 << 16), wire_out


async def _serve(surface: _Local, wire_in: BinaryIO, wire_out: int) -> None:
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](_BUFFER)
    outgoing, out = anyio.create_memory_object_stream[SessionMessage](_BUFFER)
    flight = Flight()
    reader = threading.Thread(
        target=_read,
        args=(wire_in, asyncio.get_running_loop(), into, outgoing.clone(), flight),
        daemon=True,
        name="dibs-mcp-stdin",
    )
    server = build(surface)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, out, wire_out, surface, flight)
        tasks.start_soon(_leave_on_signal, tasks.cancel_scope)
        reader.start()
        await server.run(incoming, outgoing, server.create_initialization_options())
        await to_thread.run_sync(surface.calm, abandon_on_cancel=True)
        tasks.cancel_scope.cancel()


async def _leave_on_signal(scope: anyio.CancelScope) -> None:
    """Stop as if the input had ended, so that waiters leave the queue."""
    numbers = not_ignored((signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
    with anyio.open_signal_receiver(*numbers) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _read(
    wire: BinaryIO,
    loop: asyncio.AbstractEventLoop,
    into: Sent,
    errors: MemoryObjectSendStream[SessionMessage],
    flight: Flight,
) -> None:
    """Pass each message to the event loop; runs in its own thread until the input ends."""

    async def deliver(item: dict[str, Any]) -> None:
        message = types.jsonrpc_message_adapter.validate_python(item, by_name=False)
        await into.send(SessionMessage(message))

    async def answer(fault: Fault) -> None:
        shape = types.JSONRPCError(
            jsonrpc="2.0",
            id=fault.id,
            error=types.ErrorData(code=fault.code, message=fault.message),
        )
        await errors.send(SessionMessage(shape))

    async def close() -> None:
        await into.aclose()
        await errors.aclose()

    try:
        for raw in _lines(wire):
            found = TOO_LONG if raw is None else parse(raw)
            if not isinstance(found, Fault):
                found = flight.begin(found) or found
            act = answer(found) if isinstance(found, Fault) else deliver(found)
            try:
                asyncio.run_coroutine_threadsafe(act, loop).result()
            except ValueError:  # from pydantic
                fault = Fault(-32600, "not a valid MCP message")
                asyncio.run_coroutine_threadsafe(answer(fault), loop).result()
        asyncio.run_coroutine_threadsafe(close(), loop).result()
    except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the loop has ended


def _lines(wire: BinaryIO) -> Iterator[bytes | None]:
    """Yield each line, or None for one that is too long."""
    while True:
        line = wire.readline(MOST_BYTES + 1)
        if not line:
            return
        if len(line) > MOST_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = wire.readline(MOST_BYTES)
            yield None
        elif line.strip():
            yield line


async def _write(
    out: MemoryObjectReceiveStream[SessionMessage], wire: int, surface: _Local, flight: Flight
) -> None:
    """Write each message as a line, then record that it was sent."""
    async with out:
        async for item in out:
            shape = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            if isinstance(item.message, types.JSONRPCError):
                shape.setdefault("id", None)
            line = json.dumps(shape, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
            await to_thread.run_sync(_write_all, wire, line, abandon_on_cancel=True)
            id_ = getattr(item.message, "id", None)
            if not hasattr(item.message, "method"):
                flight.end(id_)
                hear = surface.hearers.pop(str(id_), None)
                if hear is not None:
                    await to_thread.run_sync(hear, True)


def _write_all(wire: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(wire, view) :]
