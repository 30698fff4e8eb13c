"""Test clients for the real server: two transports, two protocol generations."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.server.conftest import free_port

import dibs

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD, NEW = "2025-06-18", "2026-07-28"
#: How a test starts the command as its own process.
PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")
PATIENCE = 30
#: The token of the human at each server, by its URL.
TOKENS: dict[str, str] = {}
_META = "io.modelcontextprotocol/"


def environment() -> dict[str, str]:
    """Return a server's environment: independent of the user, with the same code."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}
    people = {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    return {**kept, **people, "PYTHONPATH": str(Path(dibs.__file__).parents[1])}


def envelope(params: dict[str, Any], era: str, client: str = "wire") -> dict[str, Any]:
    """Return params as a client of that generation would send them."""
    if era == OLD:
        return params
    meta = {
        f"{_META}protocolVersion": era,
        f"{_META}clientInfo": {"name": client, "version": "1"},
        f"{_META}clientCapabilities": {},
        **params.get("_meta", {}),
    }
    return {**params, "_meta": meta}


class Wire:
    """A client: requests by id, and other messages."""

    era: str
    name: str

    def __init__(self) -> None:
        self.ids = itertools.count(1)
        self.heard: list[dict[str, Any]] = []

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        raise NotImplementedError

    def end(self, id_: int) -> dict[str, Any]:
        raise NotImplementedError

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to a request: its result or its error."""
        return self.end(self.begin(method, params))

    def begin_call(self, tool: str, *, progress: bool = False, **arguments: Any) -> int:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if progress:
            params["_meta"] = {"progressToken": "p"}
        return self.begin("tools/call", params)

    def end_call(self, id_: int) -> tuple[bool, Any]:
        """Return whether it is an error, and what its text says."""
        result = self.end(id_)["result"]
        said = json.loads(result["content"][0]["text"])
        if not result.get("isError"):
            assert result["structuredContent"] == said
        return bool(result.get("isError")), said

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return a tool's result; an error fails the test."""
        failed, said = self.end_call(self.begin_call(tool, **arguments))
        assert not failed, said
        return said

    def fails(self, tool: str, **arguments: Any) -> Any:
        """Return the error of a call."""
        failed, said = self.end_call(self.begin_call(tool, **arguments))
        assert failed, said
        return said["error"]

    def shake_hands(self) -> None:
        params = {
            "protocolVersion": OLD,
            "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        answer = self.request("initialize", params)
        assert answer["result"]["protocolVersion"] == OLD
        self.notify("notifications/initialized")

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        raise NotImplementedError


class Stdio(Wire):
    """A client over standard streams."""

    def __init__(
        self, repo: Any, agent: str, era: str, program: tuple[str, ...] = PROGRAM, **environ: str
    ) -> None:
        super().__init__()
        self.era, self.name = era, agent
        named = {"DIBS_AGENT": agent} if agent else {}
        self.process = subprocess.Popen(
            [*program, "mcp"], cwd=repo, env={**environment(), **named, **environ},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: list[bytes] = []
        self._came: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._answers: dict[Any, dict[str, Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if era == OLD:
            self.shake_hands()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._came.put(json.loads(line))
        self._came.put(None)

    def send(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """Return the next message."""
        message = self._came.get(timeout=PATIENCE)
        assert message is not None, "the server left"
        return message

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        id_ = next(self.ids)
        whole = envelope(params or {}, self.era)
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": whole}
        self.send(json.dumps(message).encode() + b"\n")
        return id_

    def end(self, id_: int) -> dict[str, Any]:
        while id_ not in self._answers:
            message = self.next()
            if "method" in message:
                self.heard.append(message)
            else:
                self._answers[message["id"]] = message
        return self._answers.pop(id_)

    def hear(self, _: int) -> dict[str, Any]:
        """Return the next notification about a request."""
        message = self.next()
        assert "method" in message, message
        return message

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.send(json.dumps(message).encode() + b"\n")

    def cancel(self, id_: int) -> None:
        self.notify("notifications/cancelled", {"requestId": id_})

    def close(self) -> None:
        streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        with suppress(BrokenPipeError):
            streams[0].close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()
        self._reader.join(5)
        for stream in streams[1:]:
            stream.close()


class Served:
    """``dibs serve`` as a process with files of its own; its human's token is sent unless another one is."""

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self._folder = tempfile.TemporaryDirectory(
            prefix="dibs-", dir="/tmp"
        )  # for a short socket path
        own = {"XDG_STATE_HOME": f"{self._folder.name}/state", "XDG_RUNTIME_DIR": self._folder.name}
        self.environ = {**environment(), **own}
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "--json", "--port", str(free_port())], cwd=repo,
            env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.url = json.loads(line)["url"] + "/mcp"
        TOKENS[self.url] = self.token("--scope", "human")

    def token(self, *words: str) -> str:
        """Return a new token."""
        done = subprocess.run(
            [*PROGRAM, "token", "new", *words], cwd=self.repo, env=self.environ,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def close(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self._folder.cleanup()


class Http(Wire):
    """A client over HTTP; each request uses its own connection."""

    def __init__(self, url: str, agent: str, era: str, **headers: str) -> None:
        super().__init__()
        self.era, self.name, self.url = era, agent, url
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {TOKENS.get(url, '')}",
            **({"Dibs-Agent": agent} if agent else {}),
            **{key.replace("_", "-"): value for key, value in headers.items()},
        }
        self._open: dict[int, http.client.HTTPConnection] = {}
        self._streams: dict[int, Iterator[dict[str, Any]]] = {}
        if era == OLD:
            self.shake_hands()

    def post(self, body: bytes, **headers: str) -> tuple[int, http.client.HTTPResponse]:
        """Send a raw body; return the connection and its response."""
        parts = urlsplit(self.url)
        link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        link.request("POST", parts.path, body, given)
        return link, link.getresponse()

    def answer(self, body: Any, **headers: str) -> tuple[int, Any]:
        """Return the status and the message of the response to a body."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        link, response = self.post(raw, **headers)
        with closing(link), response:
            return response.status, _message(response)

    def _headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        if self.era == OLD:
            return {}
        named = params.get("name") or params.get("uri")
        return {
            "MCP_Protocol_Version": self.era, "Mcp_Method": method,
            **({"Mcp_Name": str(named)} if named else {}),
        }  # fmt: skip

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        id_ = next(self.ids)
        whole = envelope(params or {}, self.era)
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": whole}
        self._begin(id_, method, json.dumps(message).encode(), self._headers(method, whole))
        return id_

    def _begin(self, id_: int, method: str, body: bytes, headers: dict[str, str]) -> None:
        parts = urlsplit(self.url)
        link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        given = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        link.request("POST", parts.path, body, given)
        self._open[id_] = link

    def _stream(self, id_: int) -> Iterator[dict[str, Any]]:
        if id_ not in self._streams:
            response = self._open[id_].getresponse()
            session = response.getheader("mcp-session-id")
            if session:
                self.headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": OLD}
            self._streams[id_] = _messages(response)
        return self._streams[id_]

    def hear(self, id_: int) -> dict[str, Any]:
        """Return the next notification about a request."""
        return next(self._stream(id_))

    def end(self, id_: int) -> dict[str, Any]:
        *news, last = self._stream(id_)
        self.heard += news
        self._streams.pop(id_)
        self._open.pop(id_).close()
        return last

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        status, _ = self.answer(message)
        assert status == 202

    def cancel(self, id_: int) -> None:
        """The old generation sends a notification; for the new one, closing the connection is enough."""
        if self.era == OLD:
            self.notify("notifications/cancelled", {"requestId": id_})
        self._streams.pop(id_, None)
        self._open.pop(id_).close()

    def close(self) -> None:
        for link in self._open.values():
            link.close()


def _messages(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    with response:
        if "event-stream" not in (response.getheader("content-type") or ""):
            yield json.loads(response.read())
            return
        for line in response:
            if line.startswith(b"data:") and line[5:].strip():
                message = json.loads(line[5:])
                yield message
                if "method" not in message:
                    return


def _message(response: http.client.HTTPResponse) -> Any:
    body = response.read()
    if body.startswith(b"{"):
        return json.loads(body)
    for line in body.splitlines():
        if line.startswith(b"data:") and line[5:].strip():
            return json.loads(line[5:])
    return body.decode()


def queue_of(wire, path):
    return [one["agent"] for one in wire.call("status", paths=[path])["queue"]]


def until(look):
    """Poll until the condition is true; the test's timeout limits it."""
    end = time.monotonic() + 30
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)
