"""Events as server-sent events: ``GET /events``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

from dibs.errors import DibsError
from dibs.server.events.hub import HEARTBEAT_EVERY
from dibs.server.events.protocol import CONNECTION, LAST_READ, limit_buffers
from dibs.server.events.request import wanted
from dibs.server.events.sessions import STALLED, next_items
from dibs.server.rest.dispatch import failure
from dibs.server.security.identity import IDENTITY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from dibs.server.events.protocol import StreamingHttp
    from dibs.server.events.request import Wanted
    from dibs.server.events.sessions import Sessions
    from dibs.server.projects import ServedProject
    from dibs.server.security.identity import RequestIdentity

#: How many milliseconds a browser waits before it connects again.
RETRY = 2_000


class SseEndpoint:
    """Answers requests for events."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def answer(self, request: Request) -> Response:
        """Return the response that streams events, or the error."""
        try:
            asked = wanted(request.query_params, request.headers)
            identity: RequestIdentity = request.scope[IDENTITY]
            served = await self._sessions.project(identity, asked.project)
            self._sessions.check_room()
        except DibsError as error:
            return failure(error)
        return EventStream(self._blocks(served, asked, identity))

    async def _blocks(
        self, served: ServedProject, asked: Wanted, identity: RequestIdentity
    ) -> AsyncIterator[bytes]:
        yield b"retry: %d\n\n" % RETRY
        async with self._sessions.stream(served, asked, identity) as stream:
            while not stream.ended:
                items = await next_items(stream)
                if items:
                    yield b"".join([item.sse for item in items])
                elif items is None and not await stream.hub.news(HEARTBEAT_EVERY):
                    # A block without data only tells the browser where to resume.
                    yield b": heartbeat\nid: %d\n\n" % (stream.place or 0)


class EventStream(Response):
    """A response that ends with the client, with the server, or if nothing is read."""

    media_type = "text/event-stream"

    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._blocks = blocks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send blocks until there is a reason to end (ASGI)."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        connection: StreamingHttp = scope[CONNECTION]
        limit_buffers(connection.transport)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send(connection, send))
            connection.on_shutdown = sending.cancel  # type: ignore[method-assign]
            waiting = group.create_task(_disconnected(receive))
            sending.add_done_callback(lambda _: waiting.cancel())
            waiting.add_done_callback(lambda _: sending.cancel())
        await _finish(connection, send)

    async def _send(self, connection: StreamingHttp, send: Send) -> None:
        try:
            async for block in self._blocks:
                async with asyncio.timeout(STALLED):
                    await send({"type": "http.response.body", "body": block, "more_body": True})
        except TimeoutError:
            connection.transport.abort()
        finally:
            await self._blocks.aclose()  # type: ignore[attr-defined]


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _finish(connection: StreamingHttp, send: Send) -> None:
    """Send the end; do not wait long for a client that does not read."""
    try:
        async with asyncio.timeout(LAST_READ):
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    except TimeoutError:
        connection.transport.abort()
