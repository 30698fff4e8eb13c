"""MCP over HTTP: an answer counts as delivered only if its client was connected."""

from __future__ import annotations

import contextlib

import anyio
import pytest
from tests.server.callers import client, token
from tests.server.conftest import until

from dibs.core.claims.agents import Caller
from dibs.server import mcp_http
from dibs.server.security.identity import IDENTITY, RequestIdentity, TokenScope

BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
HEADERS = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
START = {"type": "http.response.start", "status": 200, "headers": []}


def part(body, *, more=False):
    return {"type": "http.response.body", "body": body, "more_body": more}


class Client:
    """The client of a request, as the HTTP server sees it."""

    def __init__(self, *, gone=False):
        self.gone, self._asked = gone, False

    async def receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": BODY, "more_body": False}
        if self.gone:
            return {"type": "http.disconnect"}
        return await anyio.sleep_forever()

    async def send(self, _):
        return None


def heard(answer, *, gone=False):
    """Return what the callbacks of an answer receive."""
    told, client = [], Client(gone=gone)

    async def app(scope, receive, send):
        await receive()
        scope[mcp_http._AFTER].append(told.append)
        await answer(send, client)

    endpoint = mcp_http.McpEndpoint(None)
    endpoint._app = app
    scope = {
        "type": "http", "method": "POST", "path": mcp_http.PATH, "query_string": b"",
        "server": ("127.0.0.1", 1), "scheme": "http", "headers": HEADERS,
        IDENTITY: RequestIdentity(Caller("alice"), TokenScope.AGENT),
    }  # fmt: skip
    with contextlib.suppress(ConnectionResetError):
        anyio.run(endpoint, scope, client.receive, client.send)
    return told


async def whole(send, _):
    await send(START)
    await send(part(b"{}"))


async def streamed(send, _):
    await send(START)
    await send(part(b"data: {}\r\n\r\n", more=True))
    await send(part(b""))


async def read_and_left(send, client):
    """In a stream, the answer precedes the end, for which a client need not wait."""
    await send(START)
    await send(part(b"data: {}\r\n\r\n", more=True))
    client.gone = True
    await send(part(b""))


async def cancelled(*_):
    return


async def failing(*_):
    raise ConnectionResetError


@pytest.mark.parametrize("answer", [whole, streamed, read_and_left])
def test_an_answer_counts_as_delivered_if_its_client_was_connected(answer):
    assert heard(answer) == [True]
    assert heard(answer, gone=True) == [False]


@pytest.mark.parametrize("answer", [cancelled, failing])
def test_an_answer_that_was_never_sent_is_not_delivered(answer):
    assert heard(answer) == [False]


def test_without_the_extra_the_answer_says_how_to_install_it(resident, monkeypatch):
    monkeypatch.setattr(mcp_http, "find_spec", lambda _: None)
    answer = client(resident, token(resident)).post("/mcp", json={})

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "EXTRA_MISSING")
    assert "mcp" in answer.json()["error"]["hint"]


SPEAKS = {
    "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18",
    "Dibs-Agent": "alice",
}  # fmt: skip
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip


def test_a_session_without_requests_ends(resident, monkeypatch):
    monkeypatch.setattr(mcp_http, "SESSION_IDLE", 0.002)
    with client(resident, token(resident), **SPEAKS) as http:
        opened = http.post("/mcp", json=HELLO)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

        until(lambda: http.post("/mcp", json=ping, headers=session).status_code == 404)


def test_there_is_a_limit_for_the_number_of_sessions(resident, monkeypatch):
    monkeypatch.setattr(mcp_http, "MOST_SESSIONS", 1)
    with client(resident, token(resident), **SPEAKS) as http:
        first, second = (http.post("/mcp", json=HELLO).status_code for _ in range(2))

    assert (first, second) == (200, 503)
    assert mcp_http.SESSION_IDLE == 1_800
