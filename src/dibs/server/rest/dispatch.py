"""Decode a request, run its function in a thread, and encode the answer or the error."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from anyio import to_thread
from starlette.responses import Response

from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError, NotFound, Unavailable, system_error
from dibs.project.stopping import WaitStopped
from dibs.server.lanes import Lane
from dibs.server.rest.routes import Answer, Call
from dibs.server.rest.wire import exchange
from dibs.server.rest.wire.decoding import decode_body, query_decoder
from dibs.server.rest.wire.matching import RouteTable, raw_path
from dibs.server.rest.wire.repeats import Repeats, check_key
from dibs.server.security.authorize import caller_for, check_named, require, served_project
from dibs.server.security.identity import IDENTITY
from dibs.server.security.refusals import RequestRefused
from dibs.shapes import claims as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import Receive, Send
    from starlette.types import Scope as HttpScope

    from dibs.server.projects import ServedProject
    from dibs.server.resident import Resident
    from dibs.server.rest.routes import ApiRoute
    from dibs.server.rest.wire.repeats import Sent
    from dibs.server.security.identity import RequestIdentity

#: Parameters of every route; one that is not about a project ignores them, so a client may always send them.
PROJECT, WORKTREE = "project", "worktree"
#: The header with which a human acts for an agent, and the one that makes a repeated request harmless.
AGENT_HEADER, IDEMPOTENCY = b"dibs-agent", b"idempotency-key"
#: How many requests run at once, how many of them may wait for a thread, and how many for claims.
MOST_RUNNING, MOST_QUEUED, MOST_WAITING = 32, 2_000, 256


class _Endpoint(NamedTuple):
    """A route, ready to be called."""

    route: ApiRoute
    query: Callable[[bytes], tuple[Any, dict[str, str]]]
    #: Whether the arguments are in the query.
    reads: bool


class Dispatcher:
    """Answers the requests of all routes."""

    def __init__(self, resident: Resident, routes: Iterable[tuple[str, ApiRoute]]) -> None:
        self._resident = resident
        self._running = anyio.CapacityLimiter(MOST_RUNNING)
        self._waiting = anyio.CapacityLimiter(MOST_WAITING)
        self._queued = 0
        #: By the id of the project.
        self._lanes: defaultdict[str, Lane] = defaultdict(lambda: Lane(self._running))
        self._repeats = Repeats(resident.folder, resident.clock)
        self._table = RouteTable(
            (route.method, prefix + route.path, _endpoint(route)) for prefix, route in routes
        )

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        served: list[ServedProject] = []
        try:
            endpoint, values = self.find(scope)
            scope[exchange.ROUTE] = endpoint.route.name
            status, body, kind = await self._answer(endpoint, values, scope, receive, served)
        except DibsError as error:
            for one in served:
                one.failed(error)
                await to_thread.run_sync(one.record, error, scope.get(exchange.ROUTE, "a request"))
            await exchange.send_error(scope, send, error)
        except OSError as error:
            await exchange.send_error(scope, send, system_error(error))
        except exchange.Gone:
            return
        else:
            head = scope["method"] == "HEAD"
            await exchange.send_answer(send, status, body, kind=kind, head=head)

    def find(self, scope: HttpScope) -> tuple[_Endpoint, Any]:
        """Return the endpoint and the values in the path, or raise the error."""
        found = self._table.find(scope["method"], raw_path(scope))
        if found is None:
            raise NotFound("no such path", code="NO_ROUTE", hint="see /api/v1/openapi.json")
        if found.endpoint is None:
            raise wrong_method(scope["method"], found.allowed)
        return found.endpoint, found.values

    async def _answer(
        self,
        endpoint: _Endpoint,
        values: Any,
        scope: HttpScope,
        receive: Receive,
        served: list[ServedProject],
    ) -> Sent:
        route = endpoint.route
        identity: RequestIdentity = scope[IDENTITY]
        require(identity, route.scope)
        headers = exchange.headers_of(scope)
        body, common = endpoint.query(scope["query_string"])
        given = await exchange.body_of(receive)
        if not endpoint.reads:
            body = decode_body(given, route.takes)
        elif given:
            raise BadInput(f"{route.method} takes no body", code="BAD_INPUT")
        if route.project:
            wanted = common.get(PROJECT, "")
            served.append(served_project(self._resident.projects, identity, wanted))
        key = check_key(exchange.text_header(headers, IDEMPOTENCY)) if route.method != "GET" else ""
        call = Call(
            self._resident, identity,
            caller_for(identity, exchange.text_header(headers, AGENT_HEADER)),
            values, served[0] if served else None, common.get(WORKTREE, ""),
            key if route.keeps_ids else "", route.name,
            threading.Event() if route.waits and getattr(body, "wait", None) else None,
            exchange.version_in(headers, versioned=route.versioned),
        )  # fmt: skip
        act: Callable[[], Sent] = lambda: _act(route, call, body)  # noqa: E731
        if key and not route.keeps_ids:
            asked = (scope["query_string"], given, values)
            inner = act
            act = lambda: self._repeats.once(call, key, asked, inner)  # noqa: E731
        if call.gone is not None:
            return await self._wait(call, act, receive)
        # A route with the argument ``wait`` that does not wait is as quick as the others.
        slow = route.waits and not hasattr(body, "wait")
        lane = self._lanes[call.served.id] if route.quick and call.served else None
        return await self._run(act, self._waiting if slow else self._running, lane)

    async def _run(
        self, act: Callable[[], Sent], room: anyio.CapacityLimiter, lane: Lane | None
    ) -> Sent:
        """Run a function in a thread, unless too many wait for one."""
        if self._queued >= MOST_QUEUED:
            raise Unavailable("the server is busy", code="BUSY", hint="try again in a second")
        self._queued += 1
        try:
            if lane is not None:
                return await lane.run(act)
            return await to_thread.run_sync(act, limiter=room)
        finally:
            self._queued -= 1

    async def _wait(self, call: Call, act: Callable[[], Sent], receive: Receive) -> Sent:
        """Run a function that may wait; tell it when the client is gone."""
        gone = call.gone
        assert gone is not None
        if self._waiting.available_tokens <= 0:
            raise Unavailable("too many requests wait already", code="BUSY", hint="try again later")
        answer: Sent | Exception = exchange.Gone()

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        def work() -> Sent | Exception:
            try:
                return act()
            except WaitStopped:
                return exchange.Gone()
            except DibsError as error:  # a task group would wrap it
                return error

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                # Not abandoned: when this returns, the waiter has left the queue.
                answer = await to_thread.run_sync(work, limiter=self._waiting)
                tasks.cancel_scope.cancel()
        finally:
            gone.set()  # also when the server stops
        if isinstance(answer, Exception):
            raise answer
        return answer


def wrong_method(method: str, allowed: Iterable[str]) -> RequestRefused:
    """Return the error for a path that does not support a method."""
    methods = ", ".join(allowed)
    return RequestRefused(
        f"{printable(method[:20])} is not allowed here",
        code="METHOD",
        hint=f"use {methods}",
        headers=[(b"allow", methods.encode())],
    )


def _endpoint(route: ApiRoute) -> _Endpoint:
    from dibs.server.rest.routes import NoBody

    reads = route.method in {"GET", "DELETE"}
    takes = route.takes if reads else NoBody
    return _Endpoint(route, query_decoder(takes, (PROJECT, WORKTREE)), reads)


def _act(route: ApiRoute, call: Call, body: Any) -> Sent:
    """Call the function of a route, and return status, body, and content type."""
    if call.served is not None:
        check_named(call.identity, call.caller, call.served, call.resident.tokens)
    found = route.act(call, body)
    if isinstance(found, Answer):
        kind = found.kind.encode()
        shape = found.shape
        return found.status, shape if isinstance(shape, bytes) else exchange.encode(shape), kind
    return route.statuses[0], exchange.encode(_dated(route, call, found)), exchange.JSON


def _dated(route: ApiRoute, call: Call, shape: Any) -> Any:
    """Add ``as_of`` to what was read from a cache because the engine was unreachable, as commands do."""
    if route.method != "GET" or not route.project or not isinstance(shape, dict):
        return shape
    as_of = call.project.engine.as_of
    return shape if as_of is None else {**shape, "as_of": as_of}


def failure(error: DibsError) -> Response:
    """Return an error as a Starlette response, for the routes that are not in the table."""
    status = exchange.status_of(error)
    return Response(exchange.encode(shapes.error(error)), status, media_type="application/json")
