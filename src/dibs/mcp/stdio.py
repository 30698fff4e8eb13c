"""Serve one agent over standard input and output, with the SDK's transport.

Meanwhile, anything printed to standard output goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import to_thread
from mcp.server.stdio import stdio_server

from dibs.api.client import Dibs
from dibs.core.claims.agents import heartbeat_every
from dibs.local.heartbeat import Heartbeat
from dibs.local.signals import not_ignored
from dibs.mcp.callers import of_process
from dibs.mcp.server import build
from dibs.project.trees import OpenTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.errors import DibsError
    from dibs.mcp.server import Context


class AgentProcess:
    """What this process knows: its working tree, its agent, and which answers are written."""

    def __init__(self, repo: str) -> None:
        self.tree = OpenTree(repo)
        self._sent: dict[str, Callable[[], object]] = {}
        self._last: Dibs | None = None
        self._keeper: Heartbeat | None = None

    def dibs(self, ctx: Context) -> Dibs:
        """Return the project as this process's agent sees it; runs in a thread."""
        project = self.tree.project()
        self._last = found = Dibs(project, of_process(ctx, os.environ, project))
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
        """Record an error, after which the project may have to be reopened."""
        self.tree.failed(error)

    def when_sent(self, ctx: Context, act: Callable[[], object]) -> None:
        """Call ``act`` once the answer to this request is written."""
        self._sent[str(ctx.request_id)] = act

    async def written(self, message: dict[str, Any]) -> None:
        """Record that a message was written."""
        act = None if "method" in message else self._sent.pop(str(message.get("id")), None)
        if act is not None:
            await to_thread.run_sync(act)


class _Output:
    """Standard output, as the SDK uses it; reports each message that was written."""

    def __init__(self, wire: int, process: AgentProcess) -> None:
        self._file = os.fdopen(wire, "wb")
        self._process = process
        self._line = b""

    async def write(self, line: str) -> None:
        """Take one message."""
        self._line = line.encode()

    async def flush(self) -> None:
        """Write the message."""
        await to_thread.run_sync(self._write, self._line, abandon_on_cancel=True)
        await self._process.written(json.loads(self._line))

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()


def run(repo: str) -> None:
    """Serve until the input ends or a signal arrives."""
    process = AgentProcess(repo)
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        anyio.run(_serve, process, wire)
    finally:
        process.tree.close()


async def _serve(process: AgentProcess, wire: int) -> None:
    server = build(process)
    output = cast("anyio.AsyncFile[str]", _Output(wire, process))
    async with stdio_server(stdout=output) as (incoming, outgoing):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_leave_on_signal, tasks.cancel_scope)
            await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
            return
        # A signal: waiters have left the queue. The SDK would wait until the input ends.
        process.tree.close()
        os._exit(0)


async def _leave_on_signal(scope: anyio.CancelScope) -> None:
    """Stop as if the input had ended, so that waiters leave the queue."""
    numbers = not_ignored((signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
    with anyio.open_signal_receiver(*numbers) as signals:
        async for _ in signals:
            scope.cancel()
            return
