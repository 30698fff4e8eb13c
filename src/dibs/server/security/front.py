"""The checks in front of all routes: nothing that they refuse reaches a route."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING

from anyio import to_thread

from dibs.errors import DibsError
from dibs.server.pages import is_page
from dibs.server.security import checks
from dibs.server.security.authorize import identity_of, remember_project
from dibs.server.security.identity import IDENTITY, PEER
from dibs.server.security.login import LOGIN
from dibs.server.security.peers import identity_of_peer
from dibs.server.security.refusals import HEADERS, SECURITY_HEADERS, RequestRefused, answer
from dibs.server.security.tokens import BROWSER

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: Seconds in which a request's body must arrive.
BODY_TIMEOUT = 10.0
#: Routes that need no token.
PUBLIC = frozenset({LOGIN})
_SCHEME = b"bearer "
_OURS = frozenset(name for name, _ in SECURITY_HEADERS)


class Front:
    """Refuses a request, or passes it on with the identity of its sender."""

    def __init__(
        self,
        app: ASGIApp,
        resident: Resident,
        check_route: Callable[[Scope], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._resident = resident
        #: Raises for a path or a method that does not exist, which says more than a wrong content type.
        self._check_route = check_route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            if not (scope["path"] in PUBLIC or is_page(scope)):
                scope[IDENTITY] = await self._identify(scope)
            if scope["type"] == "http":
                self._check_content(scope)
        except DibsError as error:
            await answer(error, scope, send)
            return
        await self._app(scope, _limited(receive) if scope["type"] == "http" else receive, send)

    def _check_content(self, scope: Scope) -> None:
        try:
            checks.check_content(scope)
        except RequestRefused as refused:
            if refused.code == "CONTENT_TYPE":
                self._check_route(scope)
            raise

    def _check(self, scope: Scope) -> None:
        names = self._resident.options.names
        checks.check_host(scope, names)
        checks.check_origin(scope, names)
        checks.check_url(scope)

    async def _identify(self, scope: Scope) -> RequestIdentity:
        """Return who sends a request: the owner of a token, the process at a socket, or a browser."""
        given = checks.values(scope, b"authorization")
        peer = scope.get(PEER)
        if peer is not None and not given:
            return identity_of_peer(peer, self._resident.projects)
        if given or peer is not None:
            header = given[0] if len(given) == 1 else b""
            token = header[len(_SCHEME) :] if header[: len(_SCHEME)].lower() == _SCHEME else b""
            row = self._resident.tokens.verify(token.strip().decode("latin-1"))
        else:
            row = self._resident.tokens.verify(checks.session_of(scope), BROWSER)
            if row is not None:
                _check_page(scope)
        if row is None:
            raise _unknown(scope, bool(given))
        if row.folder and not self._resident.projects.has(row.project):
            await to_thread.run_sync(remember_project, self._resident.projects, row)
        return identity_of(row)


def _check_page(scope: Scope) -> None:
    """Refuse a change or a stream with a cookie, unless the browser says that our own page sent it."""
    writes = scope["type"] == "websocket" or scope["method"] not in {"GET", "HEAD"}
    if writes and not checks.is_same_origin(scope):
        raise RequestRefused(
            "with a cookie, only a page of this server may send this", code="CSRF", field="Origin"
        )


class SafeAnswers:
    """Adds the security headers to every answer, and removes what would open the server to other origins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def sent(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                given = [one for one in message.get("headers", ()) if _is_kept(one[0])]
                own = scope.get(HEADERS, {})
                safe = [(name, own.get(name, value)) for name, value in SECURITY_HEADERS]
                message = {**message, "headers": [*given, *safe]}
            await send(message)

        await self._app(scope, receive, sent)


@lru_cache(maxsize=256)
def _is_kept(given: bytes) -> bool:
    name = given.lower()
    return name not in _OURS and not name.startswith(b"access-control-")


def _limited(receive: Receive) -> Receive:
    """Return a ``receive`` that refuses a body that is too long or arrives too slowly."""
    until = asyncio.get_running_loop().time() + BODY_TIMEOUT
    length, complete = 0, False

    async def limited() -> Message:
        nonlocal length, complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise checks.too_slow() from None
        length += len(message.get("body", b""))
        if length > checks.MOST_BODY:
            raise checks.too_long()
        complete = not message.get("more_body", False)
        return message

    return limited


def _unknown(scope: Scope, has_header: bool) -> RequestRefused:
    """Return the refusal of a missing or wrong token."""
    return RequestRefused(
        "the bearer token is missing, wrong, expired, or revoked",
        code="AUTH",
        # Without any credentials, a WebSocket is forbidden like one of a foreign page.
        status=403 if scope["type"] == "websocket" and not has_header else 401,
        field="Authorization",
        hint="create one with: dibs token new; send it as Authorization: Bearer TOKEN",
        headers=[(b"www-authenticate", b'Bearer realm="dibs"')],
    )
