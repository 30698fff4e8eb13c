"""Events over a WebSocket: ``/ws``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocketDisconnect, WebSocketState

from dibs.core.claims.event_names import FAILURE
from dibs.errors import DibsError
from dibs.server.events.hub import Receiver
from dibs.server.events.inbox import Inbox, first_token
from dibs.server.events.messages import Note
from dibs.server.events.protocol import CONNECTION
from dibs.server.events.request import wanted
from dibs.server.events.sessions import STALLED, next_items
from dibs.server.rest.dispatch import failure
from dibs.server.security.identity import IDENTITY
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.websockets import WebSocket

    from dibs.server.events.protocol import EventProtocol
    from dibs.server.events.sessions import Sessions
    from dibs.server.events.stream import Stream
    from dibs.server.security.identity import RequestIdentity

#: Seconds in which a client without a token must send it.
AUTH_WITHIN = 5.0
#: After so many errors the connection is closed.
MOST_ERRORS = 10
REFUSED, UNKNOWN_CALLER = 4400, 4401


class WebSocketEndpoint:
    """Answers WebSocket connections."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def answer(self, websocket: WebSocket) -> None:
        """Send events until the client disconnects."""
        try:
            asked = wanted(websocket.query_params, websocket.headers)
            self._sessions.check_room()
            identity = websocket.scope.get(IDENTITY) or await self._ask(websocket)
            if identity is None:
                return
            served = await self._sessions.project(identity, asked.project)
        except DibsError as error:
            await _refuse(websocket, error)
            return
        if websocket.application_state == WebSocketState.CONNECTING:
            await websocket.accept()
        async with self._sessions.stream(served, asked, identity) as stream:
            client = SocketClient(websocket, stream)
            async with asyncio.TaskGroup() as group:
                pump = group.create_task(client.pump())
                await client.listen()
                pump.cancel()

    async def _ask(self, websocket: WebSocket) -> RequestIdentity | None:
        """Let a page of ours send its token as the first message; disconnect it otherwise."""
        await websocket.accept()
        try:
            async with asyncio.timeout(AUTH_WITHIN):
                message = await websocket.receive()
        except TimeoutError:
            message = {}
        if message.get("type") == "websocket.disconnect":
            return None
        token = first_token(message.get("text"))
        identity = await self._sessions.identity(token) if token else None
        if identity is None:
            await websocket.close(UNKNOWN_CALLER, "no valid token")
        return identity


class SocketClient:
    """One connected client."""

    def __init__(self, websocket: WebSocket, stream: Stream) -> None:
        self._websocket = websocket
        self._connection: EventProtocol = websocket.scope[CONNECTION]
        self._stream = stream
        self._receiver = Receiver(self._connection.write)
        self._connection.on_pause = self.interrupt
        self._leave: Callable[[], None] | None = None
        self._resume: int | None = None
        self._inbox = Inbox(self)

    async def pump(self) -> None:
        """Send what comes next, forever."""
        while await self._can_write():
            if self._stream.ended:
                await self._websocket.close(UNKNOWN_CALLER, "the token is no longer valid")
                return
            if self._resume is not None:
                self._stream.resume(self._resume)
                self._resume = None
            items = await next_items(self._stream)
            if items is None:
                await self._receive()
            elif items:
                self._connection.write(b"".join([item.frame for item in items]))

    async def listen(self) -> None:
        """Handle the client's messages until it disconnects."""
        errors = 0
        try:
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    answer = self._inbox.handle(message.get("text"))
                except DibsError as error:
                    errors += 1
                    answer = refusal(error)
                if not await self._can_write():
                    return
                self._connection.write(answer.frame)
                if errors >= MOST_ERRORS:
                    self.interrupt()
                    await self._websocket.close(REFUSED, "too many errors")
        except WebSocketDisconnect:
            return

    def choose(self, wishes: tuple[Any, ...]) -> None:
        """Send only the events that one of these filters accepts, from now on."""
        self._stream.wishes = wishes
        self.interrupt()

    def resume(self, after: int) -> None:
        """Continue after a number that the client names."""
        self._resume = after
        self.interrupt()

    @property
    def stream(self) -> Stream:
        """Where the client is."""
        return self._stream

    def interrupt(self) -> None:
        """Stop direct delivery, and look again what comes next."""
        if self._leave is not None:
            self._leave()
            self._leave = None
            self._stream.place = self._stream.hub.seq
        self._receiver.called.set()

    async def _receive(self) -> None:
        """Receive events directly from the hub, until something else has to be done."""
        self._receiver.called.clear()
        if self._resume is not None:
            return
        self._leave = self._stream.hub.join(self._receiver, self._stream.wishes)
        try:
            await self._receiver.called.wait()
        finally:
            self.interrupt()

    async def _can_write(self) -> bool:
        """Wait until the client has read most of what it was sent; disconnect one that does not."""
        try:
            async with asyncio.timeout(STALLED):
                await self._connection.writable.wait()
        except TimeoutError:
            self._connection.transport.abort()
            return False
        return True


async def _refuse(websocket: WebSocket, error: DibsError) -> None:
    """Answer the upgrade with an error, or close a connection that was accepted to receive its token."""
    if websocket.application_state == WebSocketState.CONNECTING:
        await websocket.send_denial_response(failure(error))
        return
    await websocket.send_text(refusal(error).text.decode())
    await websocket.close(REFUSED, error.code)


def refusal(error: DibsError) -> Note:
    """Return an error as a message."""
    shape = shapes.error(error)["error"]
    return Note(FAILURE, **{key: shape[key] for key in ("code", "message", "field", "hint")})
