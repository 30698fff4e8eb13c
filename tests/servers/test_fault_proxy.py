"""Each fault of the proxy works, between a client and a server that replies in capitals."""

from __future__ import annotations

import os
import socket
import threading

import pytest
from tests.servers import REPLIES, REQUESTS, FaultProxy
from tests.servers.processes import listener, until


class TestProxy:
    @pytest.fixture
    def server(self):
        with Shouter() as server:
            yield server

    @pytest.fixture
    def wire(self, server):
        with FaultProxy(server) as wire:
            yield wire

    @pytest.fixture
    def client(self, wire):
        with connect(wire) as client:
            assert ask(client, b"hello") == b"HELLO"
            yield client

    def test_without_faults_everything_passes_including_the_end(self, wire, client):
        sent = os.urandom(3_000_000).lower()
        threading.Thread(target=client.sendall, args=(sent,)).start()

        assert receive(client, len(sent)) == sent.upper()

        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
        eventually(lambda: wire.alive == 0)
        assert wire.passed(REQUESTS) == wire.passed(REPLIES) == len(sent) + 5

    def test_held_bytes_arrive_after_heal(self, wire, client, server):
        wire.hold()

        client.sendall(b"late")
        assert silent(client)
        assert server.heard == b"hello"

        wire.heal()
        assert receive(client, 4) == b"LATE"

    def test_a_black_hole_accepts_everything_and_returns_nothing(self, wire, client, server):
        wire.swallow()

        client.sendall(b"lost")

        assert silent(client)
        assert server.heard == b"hello"
        with connect(wire) as other:  # a new connection opens, and is equally silent
            other.sendall(b"lost")
            assert silent(other)
        wire.heal()
        assert was_reset(client)

    def test_a_one_way_cut_passes_the_request_but_no_reply(self, wire, client, server):
        wire.swallow(REPLIES)

        client.sendall(b"done")

        eventually(lambda: server.heard == b"hellodone")
        assert silent(client)

    def test_both_sides_see_a_reset(self, wire, client, server):
        wire.reset()

        assert was_reset(client)
        eventually(lambda: server.resets == 1)
        assert wire.alive == 0

    @pytest.mark.parametrize("count", [0, 3])
    def test_a_cut_passes_exactly_this_many_bytes(self, wire, client, server, count):
        wire.cut_after(count, REQUESTS)

        client.sendall(b"abcdef")

        wire.await_cut()
        assert was_reset(client)
        eventually(lambda: server.resets == 1)
        assert server.heard == b"hello" + b"abcdef"[:count]
        with connect(wire) as other:  # it happens once
            assert ask(other, b"again") == b"AGAIN"

    def test_a_dropped_reply_is_lost_after_the_effect(self, wire, client, server):
        wire.drop_reply(after=b"commit")
        assert ask(client, b"read") == b"READ"

        client.sendall(b"comm")
        client.sendall(b"it")

        wire.await_cut()
        assert server.heard.endswith(b"commit")
        assert was_reset(client, allowed=b"COMM")
        with connect(wire) as other:
            assert ask(other, b"commit") == b"COMMIT"


class Shouter:
    """A server that returns what it receives in capitals, and remembers it."""

    def __init__(self):
        self._listener = listener()
        self.port = self._listener.getsockname()[1]
        self.heard = b""
        self.resets = 0
        self._open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with sock:
            try:
                while data := sock.recv(65536):
                    self.heard += data
                    sock.sendall(data.upper())
            except ConnectionResetError:
                self.resets += 1
            except OSError:
                pass

    def say(self, data):
        self._open[0].sendall(data)

    def close(self):
        # Closing alone would not wake the accepting thread, and so would not stop listening.
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def connect(wire):
    return socket.create_connection(("127.0.0.1", wire.port), timeout=10)


def ask(client, data):
    client.sendall(data)
    return receive(client, len(data))


def receive(client, count):
    data = b""
    while len(data) < count and (more := client.recv(count - len(data))):
        data += more
    return data


def silent(client):
    client.settimeout(0.1)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(10)
    return False


def was_reset(client, allowed=None):
    """Return whether the stream ends with a reset; bytes before it must be ``allowed``, if given."""
    data = b""
    try:
        while more := client.recv(100):
            data += more
    except ConnectionResetError:
        return allowed is None or data in {b"", allowed}
    return False


def eventually(condition):
    until(condition, "the fault takes effect", 10)
