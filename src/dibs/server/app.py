"""The ASGI application: a request id, the security checks in front, and all routes behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Match

from dibs.errors import DibsError, NotFound
from dibs.server.commands import command_routes
from dibs.server.events.websocket import event_routes
from dibs.server.pages import is_page, send_page
from dibs.server.rest.app import rest_app
from dibs.server.rest.dispatch import wrong_method
from dibs.server.rest.wire.exchange import send_error
from dibs.server.rest.wire.outer import RequestIds
from dibs.server.security.front import Front, SafeAnswers
from dibs.server.security.login import login_routes
from dibs.server.security.refusals import answer

if TYPE_CHECKING:
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as HttpScope

    from dibs.server.resident import Resident


class Surfaces:
    """Sends a request to its route, or to REST, which also answers for paths that do not exist."""

    def __init__(self, resident: Resident) -> None:
        self._rest = rest_app(resident)
        self._others: list[Route | WebSocketRoute] = [
            *command_routes(resident),
            *event_routes(resident),
            *login_routes(resident),
        ]
        #: How the paths of the other routes begin; most requests are for none of them.
        paths = (route.path.partition("{")[0] for route in self._others)
        self._begin = tuple(path for path in paths if path != "/")

    def check_route(self, scope: HttpScope) -> None:
        """Raise the error of a path that does not exist, or not with this method."""
        if not is_page(scope) and self._route(scope) is None:
            self._rest.find(scope)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if is_page(scope):
            await send_page(scope, receive, send)
            return
        try:
            route = self._route(scope)
        except DibsError as error:
            await send_error(scope, send, error)
            return
        if route is not None:
            await route.handle(scope, receive, send)
        elif scope["type"] == "websocket":
            await answer(NotFound("no such path", code="NO_ROUTE"), scope, send)
        else:
            await self._rest(scope, receive, send)

    def _route(self, scope: HttpScope) -> BaseRoute | None:
        """Return the route of a request, None for REST."""
        if not scope["path"].startswith(self._begin) and scope["path"] != "/":
            return None
        allowed: set[str] = set()
        for route in self._others:
            match, more = route.matches(scope)
            if match is Match.FULL:
                scope.update(more)
                return route
            if match is Match.PARTIAL:
                allowed |= set(getattr(route, "methods", None) or ())
        if allowed:
            raise wrong_method(scope["method"], sorted(allowed))
        return None

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answer a server that reports its start and its end; the process has parts of its own for that."""
        while (event := (await receive())["type"]) != "lifespan.shutdown":
            await send({"type": f"{event}.complete"})
        await send({"type": "lifespan.shutdown.complete"})


def build(resident: Resident) -> ASGIApp:
    """Return the application of a resident process."""
    surfaces = Surfaces(resident)
    front = Front(surfaces, resident, surfaces.check_route)
    return SafeAnswers(RequestIds(front, resident.metrics.seen))
