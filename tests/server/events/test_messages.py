"""What clients may send: messages are ignored, malformed frames end the connection, tokens are needed."""

from __future__ import annotations

import pytest
from tests.server.events.raw import RawSocket, framed
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dibs.server.security.identity import TokenScope


@pytest.mark.parametrize("message", ['{"type": "ping"}', "{", b"\0", "x" * (64 << 10)])
def test_what_a_client_says_is_ignored(live, message):
    client = live.connect()
    client.next()

    client.send(message)

    last = live.claim("alice", "said.py")
    assert client.until(last)[-1]["type"] == "lock:acquired"
    live.release("alice", "said.py")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(framed(0x81, b"x" * (65 << 10)), 1009, id="65 KiB"),
        pytest.param(framed(0x81, b"", size=2 << 30), 1009, id="2 GiB announced"),
        pytest.param(framed(0x01, b"x" * 60_000) + framed(0x00, b"x" * 60_000), 1009, id="parts"),
        pytest.param(framed(0x01, b"") + framed(0x00, b"") * 5000, 1009, id="endless fragments"),
        pytest.param(framed(0x81, b"{}", mask=False), 1002, id="unmasked"),
        pytest.param(framed(0x88, b"\0"), 1002, id="bad close"),
    ],
)
def test_a_malformed_frame_closes_the_connection_with_the_right_code(live, data, code):
    with RawSocket(live.path) as raw:
        raw.link.sendall(data)

        assert raw.close_code() == code


# Tokens.


@pytest.fixture
def token(live):
    return live.resident.tokens.new(TokenScope.READ, project=live.served.id)


def test_no_token_and_no_own_page_is_refused_before_the_upgrade(live):
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        with pytest.raises(InvalidStatus) as refused:
            live.connect_tcp(additional_headers=headers)
        assert refused.value.response.status_code == 403


def test_a_token_in_the_url_is_refused(live, token):
    with pytest.raises(InvalidStatus) as refused:
        live.connect_tcp(f"?token={token[0]}")

    assert refused.value.response.status_code == 400


def test_a_token_in_the_header_opens_the_stream(live, token):
    headers = {"Authorization": f"Bearer {token[0]}"}

    assert live.connect_tcp(additional_headers=headers).next()["type"] == "init"


def test_a_token_for_another_project_opens_nothing(live):
    secret, _ = live.resident.tokens.new(TokenScope.READ, project="000000000000")

    with pytest.raises(InvalidStatus) as refused:
        live.connect_tcp(additional_headers={"Authorization": f"Bearer {secret}"})

    assert refused.value.response.status_code == 404


def test_a_revoked_token_ends_the_stream(live, token, monkeypatch):
    monkeypatch.setattr("dibs.server.events.sessions._CHECK_TOKENS", 0.05)
    secret, row = token
    client = live.connect_tcp(additional_headers={"Authorization": f"Bearer {secret}"})
    client.next()

    live.resident.tokens.revoke(row.id)

    with pytest.raises(ConnectionClosed):
        client.next()
    assert client.link.close_code == 4401
