"""MCP over HTTP at ``/mcp``: the tools of ``dibs.mcp``, for the identities and projects of this server.

The checks in front have already decided who calls. Here the form of a message is checked; the MCP SDK, which
is loaded with the first request, handles the rest.
"""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint
from starlette.requests import Request
from starlette.responses import Response

from dibs.api.client import Dibs
from dibs.errors import DibsError, Misconfigured
from dibs.local.installation import install_command
from dibs.mcp.callers import BOUND, GONE, of_request
from dibs.mcp.framing import TOO_LONG, Fault, Flight, parse
from dibs.server.events.protocol import CONNECTION
from dibs.server.security.authorize import require, served_project
from dibs.server.security.checks import MOST_BODY
from dibs.server.security.identity import IDENTITY, TokenScope
from dibs.server.security.named_agents import check_named
from dibs.server.security.refusals import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as HttpScope

    from dibs.mcp.server import Context
    from dibs.server.resident import Resident

PATH = "/mcp"
#: Seconds after which a session without a request ends, and how many there are at once.
SESSION_IDLE, MOST_SESSIONS = 1_800.0, 1_000
#: Set on uvicorn's state once a newer process accepts connections; calls that wait then go on here.
_HANDED_OVER = "dibs_handed_over"
#: How many rounds of the event loop it takes to notice that a client has disconnected.
_ROUNDS = 3
#: TokenScope keys: the functions to call once the answer is sent, and whether it was.
_AFTER, _LEFT = "dibs.after", "dibs.left"


class ServedTools:
    """The transport of a process that serves many agents and projects."""

    def __init__(self, resident: Resident) -> None:
        self._projects = resident.projects
        self._tokens = resident.tokens

    def dibs(self, ctx: Context) -> Dibs:
        """Return the project and working tree that the request names, as its agent sees it."""
        assert ctx.request is not None
        query = ctx.request.query_params
        identity = ctx.request.scope[IDENTITY]
        served = served_project(self._projects, identity, query.get("project", ""))
        named = of_request(ctx)
        check_named(identity, named.caller, served, self._tokens)
        return Dibs(served.project(named.tree or query.get("worktree", "")), named.caller)

    def failed(self, error: DibsError) -> None:
        """Pass on a call's error; a project whose store is fine is only reopened."""
        for served in self._projects.all():
            served.failed(error)

    def begin(self) -> None:
        """Do nothing: a server that stops lets its calls finish."""

    def end(self) -> None:
        """Do nothing."""

    def after(self, ctx: Context, hear: Callable[[bool], object]) -> None:
        """Call ``hear`` with whether the response reached a connected client."""
        if ctx.request is not None:
            ctx.request.scope[_AFTER].append(hear)


class McpEndpoint:
    """Answers the requests to ``/mcp``."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident
        self._app: ASGIApp | None = None
        self._flight = Flight()
        self._lock = anyio.Lock()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        try:
            identity = scope[IDENTITY]
            require(identity, TokenScope.AGENT)
            async with self._lock:
                app = self._app = self._app or await self._load()
        except DibsError as error:
            await answer(error, scope, send)
            return
        if identity.scope is TokenScope.AGENT:
            scope[BOUND] = identity.caller.id
        _own_session(scope, identity.token or identity.caller.id)
        request = Request(scope, receive)
        scope[_AFTER] = []
        try:
            if request.method == "POST":
                await self._post(app, request, _watched(request, send))
            else:
                await app(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                for hear in scope[_AFTER]:
                    await to_thread.run_sync(hear, scope.get(_LEFT, False))

    async def close(self) -> None:
        """End all sessions."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _load(self) -> ASGIApp:
        """Import the SDK, and start its sessions in a task that lives as long as the server."""
        if any(find_spec(name) is None for name in ("mcp", "mcp_types")):
            raise Misconfigured(
                "MCP needs the mcp package (2.3 or newer), which is not installed",
                code="EXTRA_MISSING",
                hint=f"run: {install_command('mcp')}, then dibs serve again",
            )
        manager = await to_thread.run_sync(_manager, self._resident)
        started = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                started.set()
                await asyncio.Event().wait()

        self._running = asyncio.create_task(run())
        await started.wait()
        app: ASGIApp = manager.asgi_app
        return app

    async def _post(self, app: ASGIApp, request: Request, send: Send) -> None:
        """Check a message, and pass it on with its original body."""
        body = await request.body()
        session = request.headers.get("mcp-session-id", "")
        found = TOO_LONG if len(body) > MOST_BODY else parse(body)
        # Without a session, ids of different requests may be equal.
        if not isinstance(found, Fault) and session:
            found = self._flight.begin(found, session) or found
        if isinstance(found, Fault):
            response = Response(json.dumps(found.shape()), 400, media_type="application/json")
            await response(request.scope, request.receive, send)
            return
        _hang_up_at_end(request.scope)
        try:
            await app(request.scope, _replayed(body, request), send)
        finally:
            if "method" in found and "id" in found:
                self._flight.end(found["id"], session)


def _manager(resident: Resident) -> Any:
    import logging

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from dibs.mcp.server import build

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log untrusted input
    return StreamableHTTPSessionManager(
        build(ServedTools(resident)),
        # The checks in front of all routes are stricter.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MOST_BODY,
        session_idle_timeout=SESSION_IDLE,
        max_sessions=MOST_SESSIONS,
    )


def _own_session(scope: HttpScope, owner: str) -> None:
    """Bind a session to the identity that opened it; the SDK refuses it to others."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))


def _hang_up_at_end(scope: HttpScope) -> None:
    """Let a call that waits leave the queue when the server stops."""
    connection: Any = scope.get(CONNECTION)

    def hang_up() -> None:
        if not getattr(connection.server_state, _HANDED_OVER, False):
            scope[GONE] = True

    if connection is not None:
        connection.on_shutdown = hang_up


def _replayed(body: bytes, request: Request) -> Receive:
    """Return a ``receive`` that replays the body and records a disconnect."""
    waits = [True]

    async def replay() -> Message:
        if waits:
            waits.pop()
            return {"type": "http.request", "body": body, "more_body": False}
        message = await request.receive()
        if message["type"] == "http.disconnect":
            request.scope[GONE] = True
        return message

    return replay


def _watched(request: Request, send: Send) -> Send:
    """Return a ``send`` that records whether the client was connected when the answer was sent.

    Only the answer counts: a client may disconnect before the stream ends.
    """

    async def watched(message: Message) -> None:
        if request.scope[_AFTER] and message.get("body"):
            for _ in range(_ROUNDS):
                await checkpoint()
            request.scope[_LEFT] = not await request.is_disconnected()
        await send(message)

    return watched
