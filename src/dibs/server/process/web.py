"""HTTP and WebSockets with uvicorn, over TCP and over a Unix socket.

On the Unix socket, the scope of each request has the process at the other end under ``dibs.peer``.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dibs.server.events.protocol import EventProtocol
from dibs.server.security.identity import PEER, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp
    from websockets.http11 import Request


#: Seconds after which a connection between two requests is closed.
IDLE = 5
#: Seconds that running calls get at the end.
LEAVE_IN = 10


class HttpConnection(HttpToolsProtocol):
    """A connection that knows its peer."""

    peer: Peer | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        self.peer = peer_of(transport)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        if self.peer is not None:
            self.scope[PEER] = self.peer  # type: ignore[literal-required]


class WebSocketConnection(EventProtocol):
    """A WebSocket that knows its peer."""

    def handle_connect(self, event: Request) -> None:
        """Begin the application's part, which runs later."""
        super().handle_connect(event)
        peer = peer_of(self.transport)
        if peer is not None and self.response.status_code == 101:  # noqa: PLR2004
            self.scope[PEER] = peer  # type: ignore[literal-required]


def peer_of(transport: asyncio.BaseTransport) -> Peer | None:
    """Return the process at the other end of a Unix socket; None over TCP or if it is unknown."""
    link = transport.get_extra_info("socket")
    if link is None or link.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid, uid)


class WebServer(uvicorn.Server):
    """Serves one application on all sockets."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=HttpConnection,
                ws=WebSocketConnection,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=IDLE,
                timeout_graceful_shutdown=LEAVE_IN,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await self.lifespan.startup()
        config, loop = self.config, asyncio.get_running_loop()

        def connection() -> asyncio.Protocol:
            return HttpConnection(config, self.server_state, self.lifespan.state)

        self.servers = []
        for one in sockets or ():
            if one.family == socket.AF_UNIX:
                server: Any = await loop.create_unix_server(connection, sock=one)
            else:
                server = await loop.create_server(connection, sock=one)
            self.servers.append(server)
        self.started = True
        self.ready()

    def ready(self) -> None:
        """Do nothing; the owner replaces this to learn when connections are accepted."""

    def leaving(self) -> None:
        """Do nothing; the owner replaces this to stop what else accepts calls."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and finish running calls."""
        others = asyncio.get_running_loop().run_in_executor(None, self.leaving)
        await super().shutdown(sockets)
        await others

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the owner."""
        yield
