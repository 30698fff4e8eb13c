"""Events over a WebSocket: ``/ws``. What a client sends is ignored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from dibs.errors import DibsError
from dibs.server.events.hub import Receiver
from dibs.server.events.protocol import CONNECTION
from dibs.server.events.request import wanted
from dibs.server.events.sessions import STALLED, Sessions, next_items
from dibs.server.rest.dispatch import failure
from dibs.server.security.identity import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.websockets import WebSocket

    from dibs.server.events.protocol import EventProtocol
    from dibs.server.events.stream import Stream
    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: The close code if the client's token is no longer valid.
UNKNOWN_CALLER = 4401


def event_routes(resident: Resident) -> list[WebSocketRoute]:
    """Return the route ``/ws``."""
    return [WebSocketRoute("/ws", WebSocketEndpoint(Sessions(resident)).answer)]


class WebSocketEndpoint:
    """Answers WebSocket connections."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def answer(self, websocket: WebSocket) -> None:
        """Send events until the client disconnects."""
        try:
            asked = wanted(websocket.query_params)
            self._sessions.check_room()
            identity: RequestIdentity = websocket.scope[IDENTITY]
            served = await self._sessions.project(identity, asked.project)
        except DibsError as error:
            await websocket.send_denial_response(failure(error))
            return
        await websocket.accept()
        async with self._sessions.stream(served, asked, identity) as stream:
            client = SocketClient(websocket, stream)
            async with asyncio.TaskGroup() as group:
                pump = group.create_task(client.pump())
                await _disconnected(websocket)
                pump.cancel()


class SocketClient:
    """One connected client."""

    def __init__(self, websocket: WebSocket, stream: Stream) -> None:
        self._websocket = websocket
        self._connection: EventProtocol = websocket.scope[CONNECTION]
        self._stream = stream
        self._receiver = Receiver(self._connection.write)
        self._connection.on_pause = self._interrupt
        self._leave: Callable[[], None] | None = None

    async def pump(self) -> None:
        """Send what comes next, forever."""
        while await self._can_write():
            if self._stream.ended:
                await self._websocket.close(UNKNOWN_CALLER, "the token is no longer valid")
                return
            items = await next_items(self._stream)
            if items is None:
                await self._receive()
            elif items:
                self._connection.write(b"".join([item.frame for item in items]))

    def _interrupt(self) -> None:
        """Stop direct delivery, and look again what comes next."""
        if self._leave is not None:
            self._leave()
            self._leave = None
            self._stream.place = self._stream.hub.seq
        self._receiver.called.set()

    async def _receive(self) -> None:
        """Receive events directly from the hub, until something else has to be done."""
        self._receiver.called.clear()
        self._leave = self._stream.hub.join(self._receiver, self._stream.filter)
        try:
            await self._receiver.called.wait()
        finally:
            self._interrupt()

    async def _can_write(self) -> bool:
        """Wait until the client has read most of what it was sent; disconnect one that does not."""
        try:
            async with asyncio.timeout(STALLED):
                await self._connection.writable.wait()
        except TimeoutError:
            self._connection.transport.abort()
            return False
        return True


async def _disconnected(websocket: WebSocket) -> None:
    """Wait until the client disconnects."""
    try:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
    except WebSocketDisconnect:
        return
