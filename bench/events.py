"""Compare the fan-out of events to 1,000 WebSocket clients with a loop over them, and let them never read."""

from __future__ import annotations

import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import Row, Section, at_least, median
from bench.server_load import _DIBS, _environment, _free_port, _tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLIENTS, EVENTS, ROUNDS = 1000, 50, 7
#: How often clients that never read connect, and the blocks of each before the server disconnects them.
SLOW_ROUNDS, SLOW_BLOCKS, SLOW_SECONDS = 3, 12, 0.5
#: Every event has more bytes; heartbeats and pings have fewer.
_SMALLEST_EVENT = 150
_PING, _PONG = 0x89, 0x8A

#: Serves one of the two, and publishes as many events as a line on standard input says.
_SERVE = """
import asyncio, json, resource, socket, sys, threading, time, uvicorn

kind, state, repo, port = sys.argv[1:]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
DETAILS = {"path": "src/shop/cart/totals.py", "text": "x" * 60}
SUMMARY = "agent-1 edited src/shop/cart/totals.py"

def ours():
    from dibs.core.claims.ledger import Event
    from dibs.server.app import build
    from dibs.server.events import feed
    from dibs.server.process.web import WebServer
    from dibs.server.resident import Resident
    from dibs.server.security.identity import TokenScope

    resident = Resident(state)
    served = resident.projects.add(repo)
    token, _ = resident.tokens.new(TokenScope.ADMIN)
    page = feed.PAGE

    def publish(count, at_once):
        feed.PAGE = page if at_once else 1
        one = Event("agent-1", "agent", "file_edit", SUMMARY, DETAILS)
        served.project().engine.transact(lambda txn: [txn.emit(one) for _ in range(count)])

    return WebServer(build(resident)), token, publish

def naive():
    from starlette.applications import Starlette
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocketDisconnect

    clients, loop = set(), []

    async def answer(websocket):
        loop[:] = [asyncio.get_running_loop()]
        await websocket.accept()
        clients.add(websocket)
        try:
            while True:
                await websocket.receive_text()
        except WebSocketDisconnect:
            clients.discard(websocket)

    async def send(count):
        for seq in range(count):
            text = json.dumps({
                "type": "file:edit", "seq": seq, "at": time.time(), "project": "0123456789abcdef",
                "agent": "agent-1", "entry": {
                    "seq": seq, "at": time.time(), "agent": "agent-1", "agent_kind": "agent",
                    "kind": "file_edit", "summary": SUMMARY, "details": DETAILS}}, separators=(",", ":"))
            for websocket in tuple(clients):
                await websocket.send_text(text)

    def publish(count, at_once):
        asyncio.run_coroutine_threadsafe(send(count), loop[0])

    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/ws", answer)]), loop="uvloop", http="httptools",
        ws="websockets-sansio", log_config=None, access_log=False, server_header=False,
        proxy_headers=False)
    return uvicorn.Server(config), "", publish

server, token, publish = ours() if kind == "ours" else naive()
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(port)))
listener.listen(2048)
threading.Thread(target=server.run, args=([listener],), daemon=True).start()
while not server.started:
    time.sleep(0.01)
print(token, flush=True)
for line in sys.stdin:
    count, at_once = map(int, line.split())
    print(time.perf_counter(), flush=True)
    publish(count, at_once)
"""


class _Served:
    """A process that answers each line with a line."""

    def __init__(self, words: list[str], **named: Any) -> None:
        self._process: subprocess.Popen[str] = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **named
        )
        self.told = self.hear()

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process ended"
        return line.strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def fan_out() -> Section:
    """Compare deliveries per second, and the time until everyone has an event, in alternating rounds."""
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        environ, repo = _project(base)
        servers, clients = {}, {}
        for kind in ("ours", "naive"):
            port = str(_free_port())
            words = [sys.executable, "-c", _SERVE, kind, str(base / "server"), str(repo), port]
            servers[kind] = _Served(words, cwd=repo, env=environ)
            stack.callback(servers[kind].close)
            words = [sys.executable, "-m", "bench.events", port, servers[kind].told]
            clients[kind] = _Served(words)
            stack.callback(clients[kind].close)

        def took(kind: str, count: int, at_once: int) -> float:
            clients[kind].say(str(count))
            servers[kind].say(f"{count} {at_once}")
            return float(clients[kind].hear()) - float(servers[kind].hear())

        ways = {"naive": ("naive", EVENTS, 0), "each": ("ours", EVENTS, 0), "all": ("ours", EVENTS, 1),
                "naive one": ("naive", 1, 0), "one": ("ours", 1, 0)}  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(ROUNDS + 1):
            for name, way in ways.items():
                seconds = took(*way)
                if turn:  # the first round warms up
                    times[name].append(seconds)
    return _fan_out_section(times)


def _fan_out_section(times: dict[str, list[float]]) -> Section:
    rate = {name: EVENTS * CLIENTS / median(found) for name, found in times.items()}
    pairs = [a / b for a, b in zip(times["naive"], times["each"], strict=True)]
    rows = [
        Row("a loop over Starlette's WebSockets", f"{rate['naive']:,.0f} deliveries/s"),
        Row("`/ws`, one write per event", f"{rate['each']:,.0f} deliveries/s"),
        at_least("`/ws` / the loop", median(pairs), 1.5),
        Row("`/ws`, events of one transaction", f"{rate['all']:,.0f} deliveries/s"),
        Row("until all have one event, the loop", f"{median(times['naive one']) * 1e3:.0f} ms"),
        Row("until all have one event, `/ws`", f"{median(times['one']) * 1e3:.0f} ms"),
    ]
    note = (
        f"{CLIENTS:,} clients with raw sockets in one other process, {EVENTS} events of about 300 bytes per"
        " round, uvicorn with uvloop. The loop has its events in memory; those of `/ws` come from the ledger."
    )
    return Section("Events: fan-out", note, rows)


def never_read() -> Section:
    """Compare the rate of claims and releases with and without 1,000 clients that never read."""
    from dibs.core.claims.agents import Caller
    from dibs.core.patterns.pattern import parse

    _raise_limit()
    caller, path = Caller("writer"), [parse("src/a.py")]
    rates: dict[str, list[float]] = {"with": [], "without": []}
    with ExitStack() as stack:
        made = {name: stack.enter_context(_serving()) for name in rates}
        project, port, tokens = made["with"]
        for _ in range(SLOW_ROUNDS):
            with _stuck(port, tokens, lambda: _fill(project)):
                for _ in range(SLOW_BLOCKS):
                    for name, (one, *_) in made.items():

                        def pair(one: Any = one) -> None:
                            one.claims.claim(caller, path)
                            one.holdings.release(caller, path)

                        rates[name].append(_rate(pair))
    slow, free = sum(rates["with"]), sum(rates["without"])
    rows = [
        Row("without them", f"{free / len(rates['without']):,.0f} claims and releases/s"),
        Row("with them", f"{slow / len(rates['with']):,.0f} claims and releases/s"),
        at_least("with / without", slow / free, 0.9),
    ]
    note = (
        f"{CLIENTS:,} clients of `/ws` that never read and have fallen behind, and a server without clients;"
        " another process claims and releases a file in the project of each, in turns."
    )
    return Section("Events: clients that never read", note, rows)


@contextmanager
def _serving() -> Iterator[tuple[Any, int, list[str]]]:
    """Serve a new project; return it, the port, and tokens."""
    from dibs.project.location import locate
    from dibs.project.project import open_at

    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        environ, repo = _project(base)
        tokens = _tokens(base / "state" / "dibs" / "server", repo)
        port = _free_port()
        words = [*_DIBS, "serve", "--json", "--port", str(port)]
        server = _Served(words, cwd=repo, env=environ)
        stack.callback(server.close)
        project = open_at(locate(str(repo)))
        stack.callback(project.close)
        yield project, port, tokens


def _rate(action: Callable[[], object]) -> float:
    done, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + SLOW_SECONDS:
        action()
        done += 1
    return done / (time.perf_counter() - begin)


def _fill(project: Any) -> None:
    """Write more than the server and the system keep for a client."""
    from dibs.core.claims.ledger import Event

    one = Event(
        "busy", "agent", "file_edit", "busy edited a file", {"path": "a", "text": "x" * 4000}
    )
    for _ in range(12):
        project.engine.transact(lambda txn: [txn.emit(one) for _ in range(20)])
        time.sleep(0.2)


@contextmanager
def _stuck(port: int, tokens: list[str], fill: Callable[[], object]) -> Iterator[None]:
    """Connect clients that read nothing but the answer to their request."""
    links = [_connect(port, tokens[n % len(tokens)], small=True) for n in range(CLIENTS)]
    fill()
    try:
        yield
    finally:
        for link in links:
            link.close()


def _project(base: Path) -> tuple[dict[str, str], Path]:
    environ = _environment(base)
    repo = base / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], env=environ, check=True)
    words = [*_DIBS, "init", "--yes", "--agents", "none", "--no-git-gates"]
    subprocess.run(words, cwd=repo, env=environ, check=True, stdout=subprocess.DEVNULL)
    return environ, repo


def _connect(port: int, token: str, *, small: bool = False) -> socket.socket:
    link = socket.socket()
    if small:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect(("127.0.0.1", port))
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    link.sendall(
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{bearer}"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += link.recv(1) or b"\r\n\r\n"
    assert b" 101 " in head, head
    return link


def _raise_limit() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Reader:
    """A client that counts events."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.events = 0
        self._rest = b""

    def read(self) -> None:
        data = self._rest + self.link.recv(1 << 18)
        place, end = 0, len(data)
        while end - place >= 4:
            size, start = data[place + 1], place + 2
            if size == 126:
                size, start = data[place + 2] << 8 | data[place + 3], place + 4
            if start + size > end:
                break
            if data[place] == _PING:
                self.link.sendall(
                    bytes((_PONG, 0x80 | size, 0, 0, 0, 0)) + data[start : start + size]
                )
            self.events += size >= _SMALLEST_EVENT
            place = start + size
        self._rest = data[place:]


def _read_all(port: int, token: str) -> None:
    """Connect everyone; for each number on standard input, read so many events, and print the time."""
    _raise_limit()
    chosen = selectors.DefaultSelector()
    for _ in range(CLIENTS):
        link = _connect(port, token)
        link.setblocking(False)
        chosen.register(link, selectors.EVENT_READ, _Reader(link))
    readers = [key.data for key in chosen.get_map().values()]
    while found := chosen.select(1.0):  # the snapshots
        for key, _ in found:
            key.data.read()
    print("ready", flush=True)
    for line in sys.stdin:
        for one in readers:
            one.events = 0
        wanted = int(line)
        waiting = len(readers)
        while waiting:
            for key, _ in chosen.select():
                reader = key.data
                before = reader.events
                reader.read()
                waiting -= before < wanted <= reader.events
        print(time.perf_counter(), flush=True)
        assert all(one.events == wanted for one in readers)


if __name__ == "__main__":
    _read_all(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
