"""What clients may send: invalid messages are answered, malformed frames end the connection."""

from __future__ import annotations

import json

import pytest
from tests.server.events.raw import RawSocket, framed
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dibs.server.security.identity import TokenScope


@pytest.mark.parametrize(
    "message",
    ['{"type": "subscrbe"}', "{}", "[]", "3", '"ping"', "{", "[" * 5000, b"{}", '{"type": 5}'],
)
def test_a_message_without_a_known_type_is_an_error_and_the_connection_stays_open(live, message):
    client = live.connect()
    client.next()

    client.send(message)

    assert (client.next()["code"], client.link.close_code) == ("UNKNOWN_TYPE", None)
    client.send({"type": "ping"})
    assert client.next()["type"] == "pong"


def test_the_tenth_error_closes_the_connection(live):
    client = live.connect()
    client.next()

    for _ in range(10):
        client.send("{}")

    assert [client.next()["type"] for _ in range(10)] == ["error"] * 10
    with pytest.raises(ConnectionClosed):
        client.next()
    assert client.link.close_code == 4400


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"type": "subscribe", "project": "another"}, "NOT_YOU"),
        ({"type": "subscribe", "regex": ".*"}, "UNKNOWN_FIELD"),
        ({"type": "subscribe", "types": ["lock:.*"]}, "KIND"),
        ({"type": "subscribe", "types": "x" * 5000}, "LIMIT"),
        ({"type": "subscribe", "agents": [f"a{n}" for n in range(65)]}, "LIMIT"),
        ({"type": "subscribe", "agents": {"a": 1}}, "BAD_INPUT"),
        ({"type": "subscribe", "paths": [1]}, "BAD_INPUT"),
        ({"type": "subscribe", "id": 7}, "BAD_INPUT"),
        ({"type": "resume"}, "NUMBER"),
        ({"type": "resume", "after": True}, "NUMBER"),
        ({"type": "resume", "after": 1.5}, "NUMBER"),
    ],
)
def test_an_invalid_message_says_what_is_wrong(live, message, code):
    client = live.connect()
    client.next()

    client.send(message)

    assert client.next()["code"] == code


def test_the_number_of_subscriptions_is_limited(live):
    client = live.connect()
    client.next()

    for number in range(65):
        client.send({"type": "subscribe", "id": str(number), "types": ["lock"]})

    answers = [client.next() for _ in range(65)]
    assert [one["type"] for one in answers] == ["subscribed"] * 64 + ["error"]
    assert answers[-1]["code"] == "LIMIT"


def test_what_a_client_says_about_its_own_rights_is_ignored(live):
    client = live.connect()
    client.next()

    client.send({"type": "ping", "scopes": ["admin"], "role": "human", "agent": "root"})

    assert client.next() == {"type": "pong", "id": ""}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(framed(0x81, b"x" * (65 << 10)), 1009, id="65 KiB"),
        pytest.param(framed(0x81, b"", size=2 << 30), 1009, id="2 GiB announced"),
        pytest.param(framed(0x01, b"x" * 60_000) + framed(0x00, b"x" * 60_000), 1009, id="parts"),
        pytest.param(framed(0x01, b"") + framed(0x00, b"") * 5000, 1009, id="endless fragments"),
        pytest.param(framed(0x81, b"{}", mask=False), 1002, id="unmasked"),
        pytest.param(framed(0x81, b"\xff\xfe"), 1007, id="not UTF-8"),
        pytest.param(framed(0xF1, b"{}"), 1002, id="reserved bits"),
        pytest.param(framed(0x83, b"{}"), 1002, id="reserved opcode"),
        pytest.param(framed(0x89, b"x" * 126), 1002, id="long ping"),
        pytest.param(framed(0x80, b"{}"), 1002, id="continuation of nothing"),
        pytest.param(framed(0x88, b"\0"), 1002, id="bad close"),
    ],
)
def test_a_malformed_frame_closes_the_connection_with_the_right_code(live, data, code):
    with RawSocket(live.path) as raw:
        raw.link.sendall(data)

        assert raw.close_code() == code


def test_a_message_of_64_kib_in_fragments_is_read(live):
    client = live.connect()
    client.next()
    text = json.dumps({"type": "ping", "id": "x"}).ljust(64 << 10)

    client.link.send([text[:100], text[100:]])

    assert client.next() == {"type": "pong", "id": "x"}


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


def test_our_own_page_sends_its_token_as_the_first_message(live, token):
    client = live.connect_tcp(origin=f"http://127.0.0.1:{live.port}")

    client.send({"type": "auth", "token": token[0], "scopes": ["admin"]})

    assert client.next()["type"] == "init"


@pytest.mark.parametrize(
    "message", ['{"type": "ping"}', '{"type": "auth", "token": "dibs_wrong"}', "[]", b"\0", None]
)
def test_a_page_without_a_valid_first_message_is_disconnected(live, message, monkeypatch):
    monkeypatch.setattr("dibs.server.events.websocket.AUTH_WITHIN", 0.2)
    client = live.connect_tcp(origin=f"http://127.0.0.1:{live.port}")

    if message is not None:
        client.send(message)

    with pytest.raises(ConnectionClosed):
        client.next()
    assert client.link.close_code == 4401


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
