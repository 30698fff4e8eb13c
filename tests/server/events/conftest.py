"""A server in this process, with clients over WebSocket."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from typing import Any

import pytest
from tests.server.conftest import free_port, make_project, own_environment, until
from websockets.sync.client import connect, unix_connect

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Event
from dibs.core.patterns.pattern import parse

PATIENCE = 10
#: A client that always reads, and sends nothing by itself.
QUIET = {"max_queue": None, "ping_interval": None}


class Client:
    """A WebSocket client that reads JSON."""

    def __init__(self, link: Any) -> None:
        self.link = link

    def next(self, timeout: float = PATIENCE) -> dict[str, Any]:
        return json.loads(self.link.recv(timeout=timeout))

    def send(self, message: Any) -> None:
        self.link.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def until(self, seq: int) -> list[dict[str, Any]]:
        """Return all messages up to the event with a number."""
        found = [self.next()]
        while found[-1].get("seq") != seq or ":" not in found[-1]["type"]:
            found.append(self.next())
        return found


class LiveServer:
    """A running server and its only project."""

    def __init__(self, resident: Any, base: Any) -> None:
        from dibs.server.app import build
        from dibs.server.process.web import WebServer

        self.resident = resident
        self.served = resident.projects.get()
        self.path = str(base / "http.sock")
        self.port = free_port()
        listeners = [socket.socket(socket.AF_UNIX), socket.socket()]
        listeners[0].bind(self.path)
        listeners[1].bind(("127.0.0.1", self.port))
        for one in listeners:
            one.listen(1024)
        self.web = WebServer(build(resident))
        self.thread = threading.Thread(target=self.web.run, args=(listeners,), daemon=True)
        self.thread.start()
        until(lambda: self.web.started)
        self._open = contextlib.ExitStack()

    @property
    def project(self) -> Any:
        return self.served.project()

    def connect(self, query: str = "", **named: Any) -> Client:
        """Connect over the Unix socket."""
        link = unix_connect(self.path, f"ws://localhost/ws{query}", **QUIET, **named)
        return Client(self._open.enter_context(link))

    def connect_tcp(self, query: str = "", **named: Any) -> Client:
        """Connect over TCP, where a token is needed."""
        link = connect(f"ws://127.0.0.1:{self.port}/ws{query}", **QUIET, **named)
        return Client(self._open.enter_context(link))

    def sessions(self) -> Any:
        """Return the sessions of the event streams."""
        import gc

        from dibs.server.events.sessions import Sessions

        return next(
            one
            for one in gc.get_objects()
            if type(one) is Sessions and one._resident is self.resident
        )

    def claim(self, agent: str, path: str) -> int:
        """Claim a path, and return the number of the entry."""
        found = self.project.claims.claim(Caller(agent), [parse(path)])
        return found.claims[0].token

    def release(self, agent: str, path: str) -> int:
        """Release a path, and return the newest number."""
        self.project.holdings.release(Caller(agent), [parse(path)])
        return self.newest()

    def burst(self, count: int, size: int) -> int:
        """Write entries of a size in one transaction, and return the last number."""
        text = "x" * size

        def step(txn: Any) -> int:
            one = Event(
                "busy", "agent", "file_edit", "busy edited a file", {"path": "a", "text": text}
            )
            return [txn.emit(one) for _ in range(count)][-1]

        return self.project.engine.transact(step)

    def newest(self) -> int:
        return self.project.ledger.page(0, 1).last

    def numbers(self, after: int = 0) -> list[int]:
        """Return the numbers in the ledger."""
        return [entry.seq for entry in self.project.ledger.after(after)[0]]

    def disconnect(self) -> None:
        """Disconnect all clients."""
        self._open.close()

    def close(self) -> None:
        self.disconnect()
        self.web.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the server does not stop"


@pytest.fixture(scope="module")
def make_live(short_tmp):
    """Start servers, each with a project of its own, or for the project of ``base``."""
    from dibs.server.resident import Resident

    made = []
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:

        def start(base=None, folder="server"):
            base = base or short_tmp()
            for name, value in own_environment(base).items():
                patch.setenv(name, value)
            if not (base / "repo").exists():
                make_project(base / "repo", dict(os.environ))
            (base / folder).mkdir(mode=0o700)
            resident = Resident(str(base / folder))
            stack.callback(resident.stop)
            resident.projects.add(str(base / "repo"))
            live = LiveServer(resident, base / folder)
            live.base = base
            stack.callback(live.close)
            made.append(live)
            return live

        yield start
        for live in made:  # all at once, because each takes a moment
            live.disconnect()
            live.web.should_exit = True
        for live in made:
            threading.Thread(target=live.resident.feeds.stop).start()


@pytest.fixture(scope="module")
def _shared(make_live):
    return make_live()


@pytest.fixture
def live(_shared):
    """The server of this module; its clients disconnect after each test."""
    yield _shared
    _shared.disconnect()
