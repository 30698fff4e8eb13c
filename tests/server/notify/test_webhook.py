"""Webhooks: signed, repeated, sent once across servers, and only to addresses that a human allowed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.server.conftest import until
from tests.server.test_pipeline import BOB, HUMAN, Crew

from dibs.errors import Misconfigured
from dibs.server.notify import webhook
from dibs.server.pipeline import worker
from dibs.services.pipeline.handlers import HandlerFailed

SECRET = "correct horse battery staple"


class Receiver:
    """A real HTTP server that answers with given statuses, then with 204; 0 means that it hangs."""

    def __init__(self):
        self.answers, self.got = [], []
        self.release = threading.Event()
        outer = self

        class Handling(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, dict(self.headers), body))
                status = outer.answers.pop(0) if outer.answers else 204
                if not status:
                    outer.release.wait(30)
                    return
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handling)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def events(self):
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def crew(resident, monkeypatch):
    monkeypatch.setenv(webhook.VARIABLE, SECRET)
    monkeypatch.setattr(worker, "PAUSE", 0.02)
    monkeypatch.setattr(worker.Worker.__init__, "__kwdefaults__", {"pause": 0.02, "spare": 5.0})
    return Crew(resident)


def configure(crew, url, **options):
    crew.configure(f"[notify]\ndesktop = false\nwebhook = {json.dumps(url)}\n", **options)


def ask(crew, title="use httpx"):
    return crew.project.decisions.new(BOB, title, confirm=True)


def is_signed(headers, body):
    told = f"{headers['Dibs-Timestamp']}.".encode() + body
    wanted = "v1=" + hmac.new(SECRET.encode(), told, hashlib.sha256).hexdigest()
    return hmac.compare_digest(headers["Dibs-Signature"], wanted)


def test_a_pending_decision_is_sent_signed_and_with_an_id(crew, receiver):
    configure(crew, receiver.url)
    crew.start()
    asked = ask(crew)
    until(lambda: receiver.got)

    ((path, headers, body),) = receiver.got
    assert path == "/hook?x=1"
    assert is_signed(headers, body)
    assert abs(int(headers["Dibs-Timestamp"]) - time.time()) < 60
    event = json.loads(body)
    assert event["id"] == headers["Dibs-Event-Id"]
    assert (event["type"], headers["Dibs-Event"]) == ("decision:asked", "decision:asked")
    assert event["command"] == f"dibs decide show {asked.id}"
    assert event["entry"]["details"]["title"] == "use httpx"


def test_a_receiver_that_fails_and_then_hangs_gets_the_event_again_with_the_same_id(
    crew, receiver, monkeypatch
):
    monkeypatch.setattr(webhook, "TIMEOUT", 0.3)
    monkeypatch.setattr(webhook.post, "__defaults__", (0.3,))
    receiver.answers = [500, 503, 0]
    configure(crew, receiver.url)
    crew.start()
    ask(crew)
    until(lambda: len(receiver.got) == 4)
    until(lambda: crew.view("webhook").row.handled == 1)

    assert len({event["id"] for event in receiver.events()}) == 1
    assert all(is_signed(headers, body) for _, headers, body in receiver.got)
    ask(crew, "use tabs")
    until(lambda: len(receiver.got) == 5)
    assert len({event["id"] for event in receiver.events()}) == 2


def test_a_redirect_is_a_failure_and_not_followed(receiver):
    receiver.answers = [302]
    with pytest.raises(HandlerFailed, match="302"):
        webhook.post(webhook.target_of(receiver.url), b"{}", {})
    assert [path for path, _, _ in receiver.got] == ["/hook?x=1"]


def test_an_answer_that_drips_is_cut_off():
    listener = socket.create_server(("127.0.0.1", 0))

    def drip():
        link, _ = listener.accept()
        with link:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500:
                try:
                    link.sendall(bytes([byte]))
                except OSError:
                    return
                time.sleep(0.02)

    threading.Thread(target=drip, daemon=True).start()
    started = time.monotonic()
    target = webhook.target_of(f"http://127.0.0.1:{listener.getsockname()[1]}")
    with listener, pytest.raises(HandlerFailed, match="did not answer in time"):
        webhook.post(target, b"{}", {}, timeout=0.3)
    assert time.monotonic() - started < 3


def test_nothing_is_sent_before_a_human_allows_the_address(crew, receiver):
    configure(crew, receiver.url, trust=False)
    crew.start()
    ask(crew)
    until(lambda: crew.view("webhook").state == "parked")

    assert "no human has accepted" in crew.view("webhook").handler.parked
    assert receiver.url not in str(crew.view("webhook").handler.parked)
    assert receiver.got == []


def test_only_what_needs_a_human_is_sent(crew, receiver):
    configure(crew, receiver.url)
    crew.start()
    crew.project.claims.claim(BOB, [crew.project.pattern("a.py")])
    crew.project.decisions.new(HUMAN, "a human's own", confirm=True)
    crew.project.decisions.new(BOB, "for the lead", confirm=True, decider="lead")
    crew.project.agents.report(BOB, context=0.9)
    crew.project.alerts.check()
    crew.project.agents.report(BOB, context=0.97)
    crew.project.alerts.check()
    until(lambda: receiver.got)
    until(lambda: crew.view("webhook").waiting == 0)

    assert [event["type"] for event in receiver.events()] == ["alert:raised"]
    assert receiver.events()[0]["severity"] == "critical"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x",
        "http://127.0.0.1.example.com/",
        "ftp://127.0.0.1/",
        "https://",
        "https://user:word@example.com/",
        "https://example.com/#x",
        "https://exa mple.com/",
        "https://example.com:port/",
        "http://[::1",
        "file:///etc/passwd",
    ],
)
def test_an_address_that_is_not_encrypted_or_not_plain_is_refused(url):
    with pytest.raises(Misconfigured):
        webhook.target_of(url)


@pytest.mark.parametrize(
    "url", ["https://example.com/x", "http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost/"]
)
def test_https_and_loopback_addresses_are_accepted(url):
    assert webhook.target_of(url).shown in url


def test_the_secret_is_created_once_and_only_for_its_owner(tmp_path, monkeypatch):
    monkeypatch.delenv(webhook.VARIABLE, raising=False)
    made = webhook.secret(str(tmp_path))

    assert webhook.secret(str(tmp_path)) == made
    assert len(made) >= 32
    path = tmp_path / webhook.FILE
    assert path.stat().st_mode & 0o777 == 0o600
    os.chmod(path, 0o644)
    with pytest.raises(Misconfigured, match="other users"):
        webhook.secret(str(tmp_path))


def test_a_short_secret_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(webhook.VARIABLE, "short")
    with pytest.raises(Misconfigured):
        webhook.secret(str(tmp_path))
