"""Events over a WebSocket: ``/ws``. What a client sends is ignored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from dibs.core.claims.event_names import HEARTBEAT
from dibs.errors import DibsError
from dibs.server.events.messages import Note
from dibs.server.events.protocol import CONNECTION
from dibs.server.events.request import wanted
from dibs.server.events.sessions import STALLED, Sessions, next_items
from dibs.server.rest.dispatch import failure
from dibs.server.security.identity import IDENTITY

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from dibs.server.events.protocol import EventProtocol
    from dibs.server.events.stream import Stream
    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: Seconds between two heartbeats.
HEARTBEAT_EVERY = 15.0
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
        async with (
            self._sessions.stream(served, asked, identity) as stream,
            asyncio.TaskGroup() as group,
        ):
            pump = group.create_task(_pump(websocket, stream))
            await _disconnected(websocket)
            pump.cancel()


async def _pump(websocket: WebSocket, stream: Stream) -> None:
    """Send what comes next, and heartbeats, forever."""
    connection: EventProtocol = websocket.scope[CONNECTION]
    now = asyncio.get_running_loop().time
    due = now() + HEARTBEAT_EVERY
    while await _can_write(connection):
        if stream.ended:
            await websocket.close(UNKNOWN_CALLER, "the token is no longer valid")
            return
        items = await next_items(stream)
        if items is None and now() < due:
            await stream.hub.news(due - now())
            continue
        if items is None:
            items = [Note(HEARTBEAT, stream.place)]
            due = now() + HEARTBEAT_EVERY
        connection.write(b"".join([item.frame for item in items]))


async def _can_write(connection: EventProtocol) -> bool:
    """Wait until the client has read most of what it was sent; disconnect one that does not."""
    try:
        async with asyncio.timeout(STALLED):
            await connection.writable.wait()
    except TimeoutError:
        connection.transport.abort()
        return False
    return True


async def _disconnected(websocket: WebSocket) -> None:
    """Wait until the client disconnects."""
    try:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
    except WebSocketDisconnect:
        return
