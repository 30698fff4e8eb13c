"""Sign a browser in: a link that is valid once sets a cookie that no script can read.

The cookie is a token of the kind ``browser``: ``dibs token ls`` lists it, and ``dibs token revoke`` ends it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from anyio import to_thread
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dibs import __version__
from dibs.dashboard import VIEWS, is_built
from dibs.server.security import checks
from dibs.server.security.checks import accepts_pages
from dibs.server.security.identity import IDENTITY, TokenScope
from dibs.server.security.refusals import RequestRefused
from dibs.server.security.tokens import BROWSER
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from dibs.server.resident import Resident

#: Seconds that a link is valid, and that a browser stays signed in.
LINK_LIFETIME, SESSION_LIFETIME = 60.0, 12 * 3600.0
LOGIN, LOGOUT = "/login", "/logout"
#: How many unused links there may be; a new one replaces the oldest.
_MOST_LINKS = 16


class _Link(NamedTuple):
    code: str
    scope: TokenScope
    expires: float


class Logins:
    """The links that were created and not used."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._links: list[_Link] = []

    def new(self, base: str, scope: TokenScope) -> tuple[str, float]:
        """Return a link that signs one browser in with a scope, and when it expires."""
        code, expires = secrets.token_urlsafe(32), self._clock() + LINK_LIFETIME
        with self._lock:
            self._links = [*self._links[1 - _MOST_LINKS :], _Link(code, scope, expires)]
        return f"{base}{LOGIN}?code={code}", expires

    def take(self, code: str) -> TokenScope | None:
        """Use a code; return the scope that it grants, or None. Compares in constant time."""
        given, found = code.encode("utf-8", "replace"), None
        with self._lock:
            for link in self._links:
                if hmac.compare_digest(link.code.encode(), given):
                    found = link
            if found is None:
                return None
            self._links.remove(found)
        return found.scope if self._clock() < found.expires else None


def login_routes(resident: Resident) -> list[Route]:
    """Return the routes that sign a browser in and out."""

    async def login(request: Request) -> Response:
        codes = request.query_params.getlist("code")
        scope = resident.logins.take(codes[0]) if len(codes) == 1 else None
        if scope is None:
            refused = _used()
            # A person reads the page, which works if this browser is signed in already.
            for_people = refused.code == "LOGIN" and is_built() and accepts_pages(request.scope)
            return RedirectResponse(_page(request), 303) if for_people else _refusal(refused)
        token = await to_thread.run_sync(_session, resident, scope)
        response = RedirectResponse(_page(request), 303)
        response.headers["set-cookie"] = _cookie(request, token, int(SESSION_LIFETIME))
        return response

    async def logout(request: Request) -> Response:
        identity = request.scope[IDENTITY]
        if checks.session_of(request.scope):
            await to_thread.run_sync(resident.tokens.revoke, identity.token)
        response = Response(b"{}", media_type="application/json")
        response.headers["set-cookie"] = _cookie(request, "", 0)
        return response

    async def welcome(request: Request) -> Response:
        identity = request.scope[IDENTITY]
        told = {
            "name": "dibs", "version": __version__, "agent": identity.caller.id,
            "scope": identity.scope.name.lower(), "api": "/api/v1/openapi.json",
        }  # fmt: skip
        return Response(json.dumps(told), media_type="application/json")

    return [
        Route("/", welcome, methods=["GET"]),
        Route(LOGIN, login, methods=["GET"]),
        Route(LOGOUT, logout, methods=["POST"]),
    ]


def link_base(url: str, names: Sequence[str]) -> str:
    """Return the address that a browser can use: a server that listens everywhere is named or local."""
    for everywhere, here in (("//0.0.0.0:", "//127.0.0.1:"), ("//[::]:", "//[::1]:")):
        if everywhere in url:
            scheme, _, port = url.partition(everywhere)
            name = names[0] if names else ""
            return (
                f"{scheme}//{name}:{port}"
                if name and ":" not in name
                else url.replace(everywhere, here)
            )
    return url


def _page(request: Request) -> str:
    """Return the page to show first; the query names a project and a view, and nothing else."""
    given = request.query_params
    view = given.get("view", "")
    project = given.get("project", "")
    path = f"/{view}" if view in VIEWS else "/"
    return f"{path}?{urlencode({'project': project})}" if project else path


def _cookie(request: Request, value: str, age: int) -> str:
    name = checks.cookie_name(request.scope)
    secure = "; Secure" if request.headers.get("x-forwarded-proto") == "https" else ""
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}"


def _session(resident: Resident, scope: TokenScope) -> str:
    return resident.tokens.new(scope, lifetime=SESSION_LIFETIME, kind=BROWSER)[0]


def _used() -> RequestRefused:
    return RequestRefused(
        "the link was already used, has expired, or is wrong",
        code="LOGIN",
        hint="create another one: dibs open",
    )


def _refusal(error: RequestRefused) -> Response:
    headers = {name.decode(): value.decode() for name, value in error.headers}
    return Response(json.dumps(shapes.error(error)), error.http_status, headers, "application/json")
