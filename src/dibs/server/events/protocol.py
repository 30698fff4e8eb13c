"""Uvicorn's WebSockets, with what event streams need in addition.

Frames that are already encoded are written to the transport as they are. A client that does not read, or that
sends endless fragments, cannot fill the memory or keep the server from stopping.
"""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.server import ServerProtocol

if TYPE_CHECKING:
    from asyncio.transports import BaseTransport

    from websockets.frames import Frame
    from websockets.http11 import Request

#: The key of the connection in an ASGI scope.
CONNECTION = "dibs.stream"
#: The most bytes in a message from a client, and the most frames it may consist of.
MOST_MESSAGE, MOST_FRAGMENTS = 64 << 10, 256
#: The client counts as slow when so many bytes wait in the transport, and no longer below the second number.
HIGH_WATER, LOW_WATER = 64 << 10, 16 << 10
#: How many bytes the system may keep for a client in addition; by itself it keeps megabytes.
SYSTEM_BUFFER = 128 << 10
#: Seconds in which a client must read the end of a stream.
LAST_READ = 1.0
_TOO_BIG = 1009


class EventProtocol(WebSocketsSansIOProtocol):
    """A WebSocket connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Compression would encode each event again for each client.
        self.conn = ServerProtocol(
            extensions=[], max_size=MOST_MESSAGE, logger=logging.getLogger("uvicorn.error")
        )

    def connection_made(self, transport: BaseTransport) -> None:
        """Limit what waits for a client that reads slowly."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        link = self.transport.get_extra_info("socket")
        if link is not None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)

    def handle_connect(self, event: Request) -> None:
        """Let the application reach the connection."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope[CONNECTION] = self  # type: ignore[literal-required]

    def handle_cont(self, event: Frame) -> None:
        """Refuse a message of very many fragments; they may all be empty."""
        if self.close_sent:
            return
        if len(self.frames) >= MOST_FRAGMENTS:
            self.conn.fail(_TOO_BIG, "too many fragments")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping, unless the client does not read the answers."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_parser_exception(self) -> None:
        """Close the connection after a malformed frame."""
        super().handle_parser_exception()
        self._close_soon()

    def keepalive_timeout(self) -> None:
        """Close the connection of a client that does not answer."""
        super().keepalive_timeout()
        self._close_soon()

    def shutdown(self) -> None:
        """Close the connection because the server stops."""
        super().shutdown()
        self._close_soon()

    def write(self, frames: bytes) -> None:
        """Write encoded frames; nothing is written to a connection that is closing."""
        if not (self.close_sent or self.disconnected or self.transport.is_closing()):
            self.transport.write(frames)

    def _close_soon(self) -> None:
        """Do not wait for a client that never reads the rest."""
        self.loop.call_later(LAST_READ, self.transport.abort)
