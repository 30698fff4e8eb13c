"""The Python client: typed calls, errors as exceptions, and events that survive a restart."""

import json
import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.server.conftest import free_port

from dibs.client import Client
from dibs.errors import BadInput, NotAllowed, NotFound, Unavailable, Unknown

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def token(server):
    def make(*words):
        done = server.dibs("token", "new", "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["token"]

    return make


@pytest.fixture(scope="module")
def alice(server, token):
    with Client(server.url, token=token("--agent", "alice")) as client:
        yield client


def test_a_call_returns_what_the_command_prints_as_json(server, alice):
    answer = alice.claims.create(patterns=["src/one.py"], reason="login")

    assert answer["outcome"] == "granted"
    shown = json.loads(server.dibs("status", "--json").stdout)
    assert answer["claims"][0]["id"] in [one["id"] for one in shown["claims"]]


def test_a_denied_claim_is_an_answer(server, alice, token):
    alice.claims.create(patterns=["src/two.py"])
    with Client(server.url, token=token("--agent", "bob")) as bob:
        answer = bob.claims.create(patterns=["src/two.py"])

    assert answer["outcome"] == "denied"
    assert answer["conflicts"][0]["holder"] == "alice"


def test_an_error_is_the_exception_of_its_code(server, alice):
    with pytest.raises(BadInput) as bad:
        alice.claims.create(patterns=["../x"])
    with pytest.raises(NotFound):
        alice.tasks.show("no-such-task")
    with pytest.raises(NotAllowed) as weak:
        alice.claims.revoke(pattern="src/two.py", reason="mine")
    with pytest.raises(NotAllowed) as wrong, Client(server.url, token="dibs_wrong") as client:
        client.status.show()

    assert (bad.value.code, wrong.value.code) == ("PATH_ESCAPE", "AUTH")
    assert weak.value.hint


def test_an_argument_that_the_call_does_not_take_is_refused_before_anything_is_sent(alice):
    with pytest.raises(TypeError, match="patterns"):
        alice.claims.create(pattern=["a"])
    with pytest.raises(AttributeError):
        alice.claims.destroy()
    with pytest.raises(AttributeError):
        alice.nonsense.create()


class DroppingProxy:
    """Passes bytes on to the server, and drops the first answer."""

    def __init__(self, url, drops=1):
        self.target = ("127.0.0.1", int(url.rpartition(":")[2]))
        self.port, self.drops = free_port(), drops
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        with closing(link), closing(socket.create_connection(self.target)) as other:
            threading.Thread(target=self.back, args=(other, link), daemon=True).start()
            with suppress(OSError):
                while given := link.recv(1 << 16):
                    mine, its = (f":{port}".encode() for port in (self.port, self.target[1]))
                    other.sendall(given.replace(mine, its))

    def back(self, other, link):
        with suppress(OSError):
            while answer := other.recv(1 << 16):
                if self.drops:
                    self.drops -= 1
                    link.shutdown(socket.SHUT_RDWR)
                    return
                link.sendall(answer)


def test_a_write_whose_answer_was_lost_is_repeated_and_happens_once(server, token, alice):
    proxy = DroppingProxy(server.url)
    with (
        closing(proxy.listener),
        Client(f"http://127.0.0.1:{proxy.port}", token=token("--agent", "carol")) as carol,
    ):
        alice.claims.create(patterns=["src/known.py"])
        sent = carol.messages.send(to="alice", text="once")

    inbox = alice.messages.list()["messages"]
    assert [one["id"] for one in inbox if one["text"] == "once"] == [sent["id"]]


def test_a_lost_write_is_reported_as_unknown_and_a_lost_read_as_unavailable(server, token):
    proxy = DroppingProxy(server.url, drops=100)
    with (
        closing(proxy.listener),
        Client(f"http://127.0.0.1:{proxy.port}", token=token("--agent", "dave")) as dave,
    ):
        with pytest.raises(Unknown):
            dave.claims.create(patterns=["src/d.py"])
        with pytest.raises(Unavailable):
            dave.status.show()


def test_events_go_on_after_the_server_was_killed_and_started_again(start_server, short_tmp):
    base = short_tmp()
    first = start_server(base=base)
    token = json.loads(first.dibs("token", "new", "--agent", "alice", "--json").stdout)["token"]
    port = first.url.rpartition(":")[2]
    with Client(first.url, token=token) as client:
        events = client.events()
        start = next(events)
        client.claims.create(patterns=["a.py"])
        seen = [next(event for event in events if "entry" in event) for _ in range(2)]
        first.process.kill()
        first.process.wait()
        for name in ("b.py", "c.py"):
            first.dibs("claim", name, "--agent", "bob")
        start_server("--port", port, base=base)
        while seen[-1]["entry"]["summary"] != "bob claimed c.py":
            event = next(events)
            assert event["type"] not in {"init", "resync"}
            seen += [event] if "entry" in event else []

    numbers = [one["seq"] for one in seen]
    assert start["type"] == "init"
    assert numbers == list(range(start["seq"] + 1, start["seq"] + 1 + len(seen)))


def test_the_generated_calls_match_the_routes_of_the_server():
    check = [sys.executable, "scripts/client.py", "--check"]

    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"run scripts/client.py: {done.stdout}{done.stderr}"


def test_a_ping_of_the_server_is_answered_and_long_messages_are_read():
    answers = []

    def serve(listener):
        link, _ = listener.accept()
        with closing(link), link.makefile("rb") as given:
            while given.readline() != b"\r\n":
                pass
            link.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
            link.sendall(b"\x89\x02hi")
            head, mask, hidden = given.read(2), given.read(4), given.read(2)
            answers.append((head, bytes(a ^ b for a, b in zip(hidden, mask, strict=False))))
            text = json.dumps({"type": "init", "seq": 1, "text": "x" * 300}).encode()
            link.sendall(b"\x81\x7e" + len(text).to_bytes(2) + text)

    with socket.create_server(("127.0.0.1", free_port())) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with Client(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            event = next(client.events())
        thread.join()

    assert answers == [(b"\x8a\x82", b"hi")]
    assert (event["type"], len(event["text"])) == ("init", 300)
