"""Compare a claim over REST with FastAPI and pydantic: same service, store, checks, and uvicorn settings."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.measure import Row, Section, at_least, median

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, SECONDS, CLIENTS, PATHS = 5, 2.0, 32, 64

#: Serves one of the two applications behind the same checks, on the same kind of server.
_SERVE = """
import json, socket, sys, uvicorn
from dibs.server.app import build
from dibs.server.resident import Resident
from dibs.server.rest.wire.outer import RequestIds
from dibs.server.security.front import Front, SafeAnswers
from dibs.server.security.identity import IDENTITY, TokenScope

kind, state, repo = sys.argv[1:]
resident = Resident(state)
served = resident.projects.add(repo)
token, _ = resident.tokens.new(TokenScope.ADMIN)

def fastapi():
    from fastapi import FastAPI, Request, Response
    from pydantic import BaseModel, ConfigDict, Field
    from dibs.core.claims.rules import EXCLUSIVE, SHARED, Granted
    from dibs.shapes import claims as shapes

    class ClaimAsked(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        patterns: list[str] = Field(min_length=1, max_length=1000)
        literal: bool = False
        shared: bool = False
        ttl: float | str | None = None
        wait: float | str = 0
        queue: bool = False
        reason: str = Field("", max_length=100000)
        task: str = Field("", max_length=200)

    class Claim(BaseModel):
        id: str
        pattern: str
        mode: str
        agent: str
        token: int
        expires_at: float | None
        since: float
        ttl: float
        reason: str
        task: str

    class ClaimAnswer(BaseModel):
        outcome: str
        token: int | None
        claims: list[Claim]
        conflicts: list[dict]
        next: list[str]

    app = FastAPI()

    @app.post("/api/v1/claims", response_model=ClaimAnswer, status_code=201)
    def create(request: Request, response: Response, body: ClaimAsked):
        caller = request.scope[IDENTITY].caller
        project = resident.projects.get("").project("")
        outcome = project.claims.claim(
            caller, [project.tree.resolve(text, literal=body.literal) for text in body.patterns],
            mode=SHARED if body.shared else EXCLUSIVE, ttl=body.ttl, wait=body.wait,
            queue=body.queue, reason=body.reason, task=body.task, shows_left=True,
        )
        if not isinstance(outcome, Granted):
            response.status_code = 409
        return shapes.outcome(outcome, human=caller.human)

    return SafeAnswers(RequestIds(Front(app, resident), resident.metrics.seen))

app = build(resident) if kind == "ours" else fastapi()
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
for port in range(21000 + __import__("os").getpid() % 8000, 29999):
    try:
        listener.bind(("127.0.0.1", port))
        break
    except OSError:
        continue
listener.listen(256)
print(json.dumps({"port": port, "token": token}), flush=True)
config = uvicorn.Config(app, loop="uvloop", http="httptools", log_config=None, access_log=False,
                        server_header=False, proxy_headers=False, lifespan="off")
import uvloop
uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))
"""


def claims() -> Section:
    """Compare claims per second of 32 clients that keep their connections, in alternating rounds."""
    with tempfile.TemporaryDirectory() as folder:
        rates: dict[str, list[float]] = {"ours": [], "fastapi": []}
        with _served("ours", folder) as ours, _served("fastapi", folder) as other:
            for number in range(ROUNDS + 1):
                for name, server in (("ours", ours), ("fastapi", other)):
                    rate = _load(*server)
                    if number:  # the first round warms up
                        rates[name].append(rate)
    pairs = [a / b for a, b in zip(rates["ours"], rates["fastapi"], strict=True)]
    rows = [
        Row("FastAPI and pydantic", f"{median(rates['fastapi']):,.0f}/s"),
        Row("`POST /api/v1/claims`", f"{median(rates['ours']):,.0f}/s"),
        at_least("ours / FastAPI and pydantic", median(pairs), 1.8),
    ]
    note = "32 connections, renewed claims on 64 files, SQLite with default durability, one server each."
    return Section("Claims over REST", note, rows)


@contextmanager
def _served(kind: str, folder: str) -> Iterator[tuple[int, str]]:
    base = os.path.join(folder, kind)
    repo = os.path.join(base, "repo")
    os.makedirs(repo)
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "XDG_"))}
    environ |= {"HOME": base, "XDG_STATE_HOME": base, "XDG_RUNTIME_DIR": base}
    subprocess.run(["git", "init", "-q", repo], check=True, env=environ)
    start = [sys.executable, "-m", "dibs", "init", "--yes", "--agents", "none", "--no-git-gates"]
    subprocess.run(start, cwd=repo, env=environ, check=True, capture_output=True)
    command = [sys.executable, "-c", _SERVE, kind, os.path.join(base, "server"), repo]
    process = subprocess.Popen(command, cwd=repo, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield told["port"], told["token"]
    finally:
        process.kill()
        process.wait()


def _load(port: int, token: str) -> float:
    """Return the answers per second, each with status 201."""
    requests = [_request(port, token, f"src/file{number}.py") for number in range(PATHS)]
    chosen = selectors.DefaultSelector()
    for number in range(CLIENTS):
        link = socket.create_connection(("127.0.0.1", port))
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chosen.register(link, selectors.EVENT_READ, number)
        link.sendall(requests[number % PATHS])
    done, sent = 0, CLIENTS
    begin = time.perf_counter()
    while time.perf_counter() < begin + SECONDS:
        for key, _ in chosen.select(1):
            link = key.fileobj
            assert isinstance(link, socket.socket)
            answer = link.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 201"), answer[:300]
            while not _complete(answer):
                answer += link.recv(1 << 16)
            done += 1
            link.sendall(requests[sent % PATHS])
            sent += 1
    rate = done / (time.perf_counter() - begin)
    for key in list(chosen.get_map().values()):
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()
    return rate


def _complete(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return bool(found) and len(body) >= int(length)


def _request(port: int, token: str, path: str) -> bytes:
    body = json.dumps({"patterns": [path], "reason": "measure"}).encode()
    return (
        f"POST /api/v1/claims HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
