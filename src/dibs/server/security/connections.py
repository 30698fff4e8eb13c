"""Limits of a connection, before a request is complete: its headers, its time, and how many there are."""

from __future__ import annotations

import json
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dibs.server.security import checks
from dibs.server.security.refusals import SECURITY_HEADERS, RequestRefused
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    import asyncio

#: Seconds in which a request must arrive, with its body.
REQUEST_TIMEOUT = 10.0
#: Seconds that the application has to answer a request whose body does not arrive.
_GRACE = 2.0
#: How many connections a server has at once.
MOST_CONNECTIONS = 8_192
_METHODS = "DELETE, GET, HEAD, PATCH, POST, PUT"


class LimitedConnection(HttpToolsProtocol):
    """A connection whose requests are limited in size and time; a violation ends it."""

    _timer: asyncio.TimerHandle | None = None
    #: The bytes of the current request, and whether its headers are complete.
    _head, _has_head = 0, False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(_crowded())
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a request."""
        if self.transport.is_closing():
            return
        self._head += len(data)
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()  # also for bytes that do not begin a request, such as empty lines
        super().data_received(data)
        if self._head > checks.MOST_HEADER_BYTES and not self._has_head:
            self._refuse(checks.too_many_headers())

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._has_head = False
        if self._timer is None:
            self._arm()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless there are too many."""
        super().on_header(name, value)
        if len(self.headers) > checks.MOST_HEADERS:
            raise checks.too_many_headers()

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the target is another server."""
        self._has_head = True
        if self.parser.get_method() == b"CONNECT":
            raise _no_method()
        if not self.url.startswith(b"/"):
            raise checks.not_plain()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        self._disarm()
        self._head, self._has_head = 0, False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Continue as a WebSocket, which has limits of its own."""
        self._disarm()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the envelope says it
        """Answer what is not a request; a check inside the parser says why."""
        error = sys.exc_info()[1]
        while error is not None and not isinstance(error, RequestRefused):
            if isinstance(error, httptools.HttpParserInvalidMethodError):
                error = _no_method()
                break
            error = error.__cause__ or error.__context__
        self._refuse(error or checks.malformed())

    def _arm(self) -> None:
        self._timer = self.loop.call_later(REQUEST_TIMEOUT, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._has_head and self.cycle is not None and not self.cycle.response_complete:
            # The application answers; a client that still sends then is cut off.
            self._timer = self.loop.call_later(_GRACE, self.transport.close)
        elif self._has_head:
            self.transport.close()
        else:
            self._refuse(checks.too_slow())

    def _refuse(self, error: RequestRefused) -> None:
        """Send an error, and close the connection."""
        self._disarm()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is not None and not cycle.response_started:
            cycle.disconnected = True  # the application must not answer as well
            cycle.message_event.set()
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = json.dumps(shapes.error(error)).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                *error.headers,
                *SECURITY_HEADERS,
            ]
            phrase = HTTPStatus(error.http_status).phrase.encode()
            first = b"HTTP/1.1 %d %s\r\n" % (error.http_status, phrase)
            lines = b"".join(b"%s: %s\r\n" % pair for pair in headers)
            self.transport.write(first + lines + b"\r\n" + body)
        self.transport.close()


def _crowded() -> RequestRefused:
    return RequestRefused(
        "the server has too many connections", code="CROWDED", hint="try again later", closes=True
    )


def _no_method() -> RequestRefused:
    return RequestRefused(
        "this server does not have that method",
        code="METHOD",
        hint=f"use one of {_METHODS}",
        headers=[(b"allow", _METHODS.encode())],
        closes=True,
    )
