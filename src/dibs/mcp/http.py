"""Serve many agents over streamable HTTP.

Each request is checked before its message is read: Host and Origin (a web page must not reach the server
through a browser), the bearer token, then the size and form of the message. The MCP SDK handles the rest.
"""

from __future__ import annotations

import json
import logging
import socket
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from anyio import to_thread
from anyio.lowlevel import checkpoint
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response

from dibs.api.client import Dibs
from dibs.errors import Misconfigured
from dibs.mcp.callers import BOUND, GONE, of_request
from dibs.mcp.framing import MOST_BYTES, TOO_LONG, Fault, Flight, parse
from dibs.mcp.server import build
from dibs.mcp.trees import McpTrees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dibs.errors import DibsError
    from dibs.mcp.server import Context
    from dibs.mcp.tokens import Tokens

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: How many rounds of the event loop it takes to notice that a client has disconnected.
_ROUNDS = 3
#: Scope keys: the functions to call once the answer is sent, and whether it was.
_AFTER, _LEFT = "dibs.after", "dibs.left"


class _Remote:
    """The transport of a process that serves many agents."""

    def __init__(self, repo: str) -> None:
        self.trees = McpTrees(repo)

    def dibs(self, ctx: Context) -> Dibs:
        """Return the working tree that the request names, as its agent sees it."""
        named = of_request(ctx)
        return Dibs(self.trees.tree(named.tree).project(), named.caller)

    def failed(self, error: DibsError) -> None:
        """Pass on a call's error."""
        self.trees.failed(error)

    def begin(self) -> None:
        """Do nothing: a server that stops lets its calls finish."""

    def end(self) -> None:
        """Do nothing."""

    def after(self, ctx: Context, hear: Callable[[bool], object]) -> None:
        """Call ``hear`` with whether the response reached a connected client."""
        if ctx.request is not None:
            ctx.request.scope[_AFTER].append(hear)


class Front:
    """The checks in front of the MCP server."""

    def __init__(self, app: ASGIApp, tokens: Tokens, hosts: Sequence[str]) -> None:
        self._app = app
        self._tokens = tokens
        self._flight = Flight()
        self._security = TransportSecurityMiddleware(security(hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject one request, or pass it on."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        refusal = await self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope[_AFTER] = []
        try:
            if request.method == "POST":
                await self._post(request, _watched(request, send))
            else:
                await self._app(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                for hear in scope[_AFTER]:
                    await to_thread.run_sync(hear, scope.get(_LEFT, False))

    async def _refusal(self, request: Request) -> Response | None:
        wrong = await self._security.validate_request(request)
        if wrong is not None:
            return wrong
        agent = self._tokens.agent_of(request.headers.get("authorization", ""))
        if agent is None:
            return Response(
                "a bearer token is required", 401, {"WWW-Authenticate": 'Bearer realm="dibs"'}
            )
        request.scope[BOUND] = agent
        return None if request.url.path == PATH else Response("not found", 404)

    async def _post(self, request: Request, send: Send) -> None:
        """Check a message, and pass it on with its original body."""
        body = await _body(request)
        session = request.headers.get("mcp-session-id", "")
        found = TOO_LONG if body is None else parse(body)
        # Without a session, ids of different requests may be equal.
        if not isinstance(found, Fault) and session:
            found = self._flight.begin(found, session) or found
        if isinstance(found, Fault):
            await _faulty(found)(request.scope, request.receive, send)
            return
        try:
            await self._app(request.scope, _replayed(body or b"", request), send)
        finally:
            if "method" in found and "id" in found:
                self._flight.end(found["id"], session)


async def _body(request: Request) -> bytes | None:
    """Return the body, or None if it is too long."""
    parts, length = [], 0
    async for part in request.stream():
        parts.append(part)
        length += len(part)
        if length > MOST_BYTES:
            return None
    return b"".join(parts)


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


def _faulty(fault: Fault) -> Response:
    status = 413 if fault is TOO_LONG else 400
    return Response(json.dumps(fault.shape()), status, media_type="application/json")


def security(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the host names that a request may use, with any port."""
    names = [f"[{name}]" if ":" in name else name for name in hosts]
    return TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[f"{scheme}://{name}{port}" for name in names
                         for scheme in ("http", "https") for port in ("", ":*")],
    )  # fmt: skip


def run(
    repo: str,
    host: str,
    port: int,
    tokens: Tokens,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until a signal arrives; ``ready`` is called with the address."""
    if host not in LOOPBACK and not tokens:
        raise Misconfigured(
            f"other machines can reach {host}, so a token is required",
            code="TOKEN_NEEDED",
            hint="use --token-file, or listen on 127.0.0.1",
        )
    for name in ("mcp", "uvicorn", "asyncio"):  # they would log untrusted input
        logging.getLogger(name).setLevel(logging.CRITICAL)
    surface = _Remote(repo)
    listener = _listen(host, port)
    try:
        anyio.run(_serve, surface, listener, tokens, [*LOOPBACK, host, *names], ready)
    finally:
        listener.close()
        surface.trees.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the socket's protocol is TCP explicitly.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise Misconfigured(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}",
            code="LISTEN",
            hint="use another --host or --port",
        ) from error
    return listener


async def _serve(
    surface: _Remote,
    listener: socket.socket,
    tokens: Tokens,
    hosts: Sequence[str],
    ready: Callable[[str], None],
) -> None:
    server: Any = build(surface)
    manager = StreamableHTTPSessionManager(
        server, security_settings=security(hosts), max_request_body_size=MOST_BYTES
    )
    config = uvicorn.Config(
        Front(manager.asgi_app, tokens, hosts),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    address = listener.getsockname()
    name = f"[{address[0]}]" if ":" in address[0] else address[0]
    left: SystemExit | None = None
    async with manager.run():
        ready(f"http://{name}:{address[1]}{PATH}")
        try:
            await uvicorn.Server(config).serve(sockets=[listener])
        except SystemExit as ended:  # a signal: let waiters leave the queue first
            left = ended
    if left is not None:
        raise left
