"""Requests that are refused before their route runs, in the one error envelope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dibs.errors import DibsError, NotAllowed
from dibs.errors.codes import CODES
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope, Send

#: The id of a request in an ASGI scope.
REQUEST_ID = "dibs.request_id"
#: Security headers of one answer that differ from those below, in an ASGI scope.
HEADERS = "dibs.headers"
#: The headers of every answer. A page may not be framed, sniffed, cached, or load anything from elsewhere.
SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class RequestRefused(NotAllowed):
    """A request that reaches no route."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str = "",
        field: str = "",
        status: int = 0,
        headers: Sequence[tuple[bytes, bytes]] = (),
        closes: bool = False,
    ) -> None:
        super().__init__(message, code=code, hint=hint, field=field)
        self.http_status = status or CODES[code].http or NotAllowed.http_status
        #: Headers of the answer, such as ``Retry-After``.
        self.headers = (*headers, *([(b"connection", b"close")] if closes else ()))


async def answer(error: DibsError, scope: Scope, send: Send) -> None:
    """Send an error, for a WebSocket instead of its upgrade."""
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    body = json.dumps(shapes.error(error, scope.get(REQUEST_ID, ""))).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *(error.headers if isinstance(error, RequestRefused) else ()),
    ]
    await send({"type": f"{kind}.start", "status": error.http_status, "headers": headers})
    content = b"" if scope.get("method") == "HEAD" else body
    await send({"type": f"{kind}.body", "body": content, "more_body": False})
