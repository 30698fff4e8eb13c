"""Hostile requests over raw sockets: each is refused with the one error envelope, before any route."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from tests.server.callers import token as new_token
from tests.server.conftest import free_port

from dibs.server.app import build
from dibs.server.process import web
from dibs.server.process.web import WebServer
from dibs.server.security import front
from dibs.server.security.refusals import SECURITY_HEADERS

PATIENCE = 20


class Wire:
    """One TCP connection to a server."""

    def __init__(self, address):
        self.host, _, port = address.removeprefix("http://").rpartition(":")
        self.port = int(port)
        self.link = socket.create_connection((self.host, self.port), PATIENCE)

    def send(self, raw):
        self.link.sendall(raw)
        return self

    def answer(self):
        """Return the status, the headers, and the body of everything until the connection closes."""
        whole = b""
        try:
            while part := self.link.recv(65536):
                whole += part
        except ConnectionResetError:
            pass
        self.link.close()
        head, _, body = whole.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        return int(lines[0].split()[1]) if lines[0] else 0, headers, body


@pytest.fixture(scope="module")
def token(server):
    return server.dibs("token", "new", "--scope", "human").stdout.strip()


@pytest.fixture
def ask(server, token):
    """Send a request made of lines; return its status and its error code."""

    def send(*lines, first="GET /api/v1/status HTTP/1.1", host=True, auth=True, body=b""):
        wire = Wire(server.url)
        given = [first, "Connection: close", *lines]
        given[1:1] = ["Host: 127.0.0.1:PORT"] * host + ["Authorization: Bearer TOKEN"] * auth
        text = "\r\n".join(
            line.replace("PORT", str(wire.port)).replace("TOKEN", token) for line in given
        )
        status, headers, content = wire.send(text.encode("latin-1") + b"\r\n\r\n" + body).answer()
        for name, value in SECURITY_HEADERS if "json" in headers["content-type"] else ():
            assert headers.get(name.decode()) == value.decode().lower()
        assert not any(name.startswith("access-control") for name in headers)
        told = json.loads(content) if content.startswith(b"{") else {}
        return status, (told.get("error") or {}).get("code", ""), headers

    return send


@pytest.mark.parametrize(
    "host", ["127.0.0.1:PORT", "localhost:PORT", "LocalHost:PORT", "[::1]:PORT"]
)
def test_a_request_may_use_the_names_of_this_machine_with_the_port(ask, host):
    assert ask(f"Host: {host}", host=False)[0] == 200


@pytest.mark.parametrize("lines", [
    [], ["Host:"], ["Host: evil.example"], ["Host: evil.example:PORT"], ["Host: 127.0.0.1"],
    ["Host: localhost"], ["Host: 127.0.0.1:1"], ["Host: 127.0.0.1.:PORT"], ["Host: localhost.:PORT"],
    ["Host: 127.0.0.1@evil.example"], ["Host: evil@127.0.0.1:PORT"], ["Host: evil:x@localhost:PORT"],
    ["Host: 127.0.0.1:PORT, evil.example"], ["Host: 127.0.0.1:PORT", "Host: evil.example"],
    ["Host: 127.0.0.1:PORT", "Host: 127.0.0.1:PORT"], ["Host: localhost.evil.example:PORT"],
    ["Host: evil.localhost:PORT"], ["Host: 127.0.0.1.nip.io:PORT"], ["Host: 127.1:PORT"],
    ["Host: 2130706433:PORT"], ["Host: 0x7f.1:PORT"], ["Host: 0.0.0.0:PORT"], ["Host: [::]:PORT"],
    ["Host: ::1:PORT"], ["Host: [::1]"], ["Host: [::ffff:127.0.0.1]:PORT"], ["Host: [0:0:0:0:0:0:0:1]:PORT"],
    ["Host: 127.0.0.1:PORT/"], ["Host: http://127.0.0.1:PORT"], ["Host: 127.0.0.1:0PORT"],
    ["Host: 127.0.0.1:+PORT"], ["Host: 127.0.0.2:PORT"], ["Host: \xff:PORT"],
    ["Host: evil.example", "X-Forwarded-Host: 127.0.0.1:PORT"],
])  # fmt: skip
def test_every_other_host_is_refused_even_with_a_token(ask, lines):
    assert ask(*lines, host=False)[:2] == (421, "HOST")


@pytest.mark.parametrize("origin", [
    "http://evil.example", "null", "http://localhost.evil", "http://localhost.evil:PORT",
    "http://127.0.0.1", "http://127.0.0.1:1", "https://127.0.0.1:PORT", "http://127.0.0.1:PORT.evil",
    "http://127.0.0.1:PORT@evil", "http://127.0.0.1:PORT/", "file://", "chrome-extension://abc",
    "http://127.0.0.1.:PORT", "127.0.0.1:PORT", "", "http://evil\r\nOrigin: http://127.0.0.1:PORT",
    "ws://127.0.0.1:PORT", "http://127.0.0.1:PORT http://evil",
])  # fmt: skip
def test_a_page_of_another_origin_is_refused(ask, origin):
    assert ask(f"Origin: {origin}")[:2] == (403, "ORIGIN")


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:PORT", "http://localhost:PORT", "http://[::1]:PORT"]
)
def test_a_page_of_this_server_is_not(ask, origin):
    assert ask(f"Origin: {origin}", "Sec-Fetch-Site: same-origin")[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "other"])
def test_a_browser_that_reports_another_site_is_refused(ask, site):
    assert ask(f"Sec-Fetch-Site: {site}")[:2] == (403, "CSRF")


@pytest.mark.parametrize("line", [
    "X: y", "Authorization: Bearer", "Authorization: Bearer wrong", "Authorization: Basic TOKEN",
    "Authorization: TOKEN", "Authorization: bearer TOKEN0", "Cookie: dibs_session=TOKEN",
    "Authorization: Bearer TOKEN\r\nAuthorization: Bearer TOKEN", "X-Forwarded-User: admin",
    "Dibs-Scope: admin",
])  # fmt: skip
def test_a_missing_or_wrong_token_is_refused(ask, line):
    status, code, headers = ask(line, auth=False)

    assert (status, code) == (401, "AUTH")
    assert headers["www-authenticate"] == 'bearer realm="dibs"'


@pytest.mark.parametrize("path", [
    "?token=TOKEN", "?access_token=abc", "?x=1&Token=abc", "?q=TOKEN", "?authorization=Bearer%20x",
    "?q=%64ibs_" + "0" * 52, "/TOKEN",
])  # fmt: skip
def test_a_token_in_the_url_is_refused_although_the_header_has_one(ask, path):
    assert ask(first=f"GET /api/v1/status{path} HTTP/1.1")[:2] == (400, "TOKEN_IN_URL")


@pytest.mark.parametrize("path", [
    "/api/locks/..%2f..%2fetc", "/api/v1/../v1/status", "/api/v1/%2e%2e/status", "/api/v1/status%00",
    "/api/v1/%c0%ae%c0%ae/status", "/api/v1/%252e%252e/status", "//api/v1/status", "/api//v1/status",
    "/api/v1/status;x", "/api/v1/status%5c", "/api/v1\\status", "/api/v1/%zz", "/api/v1/status%0d%0aX:y",
    "/api/v1/%ff", "/login%2fx", "/api/coordination/locks/..%2f..%2fetc", "/api/v1/.",
])  # fmt: skip
def test_a_path_that_programs_would_understand_differently_is_refused(ask, path):
    assert ask(first=f"GET {path} HTTP/1.1")[0] == 400


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS"])
def test_a_method_that_a_path_does_not_have_is_refused_with_those_it_has(ask, method):
    status, code, headers = ask(
        "Content-Type: application/json",
        "Content-Length: 0",
        first=f"{method} /api/v1/status HTTP/1.1",
    )
    assert (status, code) == (405, "METHOD")
    assert "get" in headers["allow"]


POST = "POST /api/v1/claims HTTP/1.1"


@pytest.mark.parametrize("kind", [
    "X: y", "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: multipart/form-data; boundary=x", "Content-Type: application/jsonp",
    "Content-Type: application/json, text/plain", "Content-Type: text/plain; application/json",
    "Content-Type: application/json\r\nContent-Type: text/plain",
    "Content-Type: application/json; charset=utf-16",
])  # fmt: skip
def test_a_change_must_be_json(ask, kind):
    assert ask(kind, "Content-Length: 2", first=POST, body=b"{}")[:2] == (415, "CONTENT_TYPE")


@pytest.mark.parametrize("kind", ["gzip", "br", "deflate", "identity, gzip"])
def test_a_compressed_body_is_refused(ask, kind):
    lines = ("Content-Type: application/json", f"Content-Encoding: {kind}", "Content-Length: 2")
    assert ask(*lines, first=POST, body=b"{}")[:2] == (415, "CONTENT_ENCODING")


JSON = "Content-Type: application/json"


@pytest.mark.parametrize(("lines", "body", "expected"), [
    (["Content-Length: 1048577"], b"{", {413}),
    (["Content-Length: 99999999999999999999999"], b"{", {400, 413}),
    (["Content-Length: -1"], b"{}", {400}),
    (["Content-Length: 2", "Content-Length: 3"], b"{}", {400}),
    (["Content-Length: 2", "Transfer-Encoding: chunked"], b"0\r\n\r\n", {400}),
    (["Transfer-Encoding: chunked"], b"10000\r\n" + b" " * 65536 + b"\r\n", {413}),
    (["Transfer-Encoding: chunked"], b"zz\r\n", {400}),
    (["Transfer-Encoding: gzip, chunked"], b"0\r\n\r\n", {400}),
])  # fmt: skip
def test_a_body_that_is_too_long_or_whose_length_is_a_lie_ends_the_connection(
    ask, lines, body, expected
):
    chunk = body * 17 if body.startswith(b"10000") else body
    assert ask(JSON, *lines, first=POST, body=chunk)[0] in expected


@pytest.fixture
def hasty(resident, monkeypatch):
    """A server in a thread, whose timeouts are short; return its address."""
    monkeypatch.setattr(front, "BODY_TIMEOUT", 0.4)
    monkeypatch.setattr(web, "IDLE", 0.4)
    listener = socket.create_server(("127.0.0.1", free_port()))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    server = WebServer(build(resident))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield address
    server.should_exit = True
    thread.join()
    listener.close()


def test_a_body_that_does_not_arrive_in_time_is_refused(hasty, resident):
    head = f"Host: {hasty}\r\n{JSON}\r\nAuthorization: Bearer {new_token(resident)}"
    wire = Wire(hasty).send(f"{POST}\r\n{head}\r\nContent-Length: 50\r\n\r\n".encode())
    began = time.monotonic()

    status, _, body = wire.answer()

    assert (status, json.loads(body)["error"]["code"]) == (408, "REQUEST_TIMEOUT")
    assert time.monotonic() - began < 3


def test_a_connection_between_two_requests_is_closed_when_it_is_idle(hasty, resident):
    wire = Wire(hasty)
    head = f"Host: {hasty}\r\nAuthorization: Bearer {new_token(resident)}"
    began = time.monotonic()

    status, headers, _ = wire.send(f"GET /none HTTP/1.1\r\n{head}\r\n\r\n".encode()).answer()

    assert (status, headers.get("connection")) == (404, None), "it stays open for a while"
    assert time.monotonic() - began < 3


def test_a_request_has_ten_seconds():
    assert front.BODY_TIMEOUT == 10
