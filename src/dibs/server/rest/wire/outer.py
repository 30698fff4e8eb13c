"""The outermost layer: a request id for every answer, and an envelope for every failure."""

from __future__ import annotations

import os
import re
import time
from logging import getLogger
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.server.rest.wire.exchange import REQUEST_ID, ROUTE, send_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as HttpScope

_GIVEN = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
log = getLogger("dibs.server")


class RequestIds:
    """Adds ``X-Request-Id``, reports each answer to ``seen``, and answers what no one else caught."""

    def __init__(self, app: ASGIApp, seen: Callable[[str, int, float], None]) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        own = scope[REQUEST_ID] = _id_of(scope)
        header = (b"x-request-id", own.encode())
        began = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception as error:
            log.exception("request %s failed: %s %s", own, scope["method"], scope["path"])
            if status:
                raise  # the answer has begun; the connection must end
            await send_error(scope, send_with_id, failure(error, own))
        finally:
            self._seen(scope.get(ROUTE, "other"), status or 499, time.perf_counter() - began)


def failure(error: Exception, request_id: str) -> DibsError:
    """Return the error that a client sees instead of an unexpected one."""
    if isinstance(error, DibsError):
        return error
    return DibsError(
        "internal error", code="INTERNAL", hint=f"the server's log has request {request_id}"
    )


def _id_of(scope: HttpScope) -> str:
    given: Any = next((v for k, v in scope["headers"] if k == b"x-request-id"), b"")
    return given.decode() if _GIVEN.fullmatch(given) else os.urandom(8).hex()
