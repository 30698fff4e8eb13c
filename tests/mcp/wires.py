"""A test client for the real server, in two protocol generations."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import dibs

OLD, NEW = "2025-06-18", "2026-07-28"
#: How a test starts the command as its own process.
PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")
PATIENCE = 30
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


class Stdio:
    """A client: requests by id, and other messages."""

    def __init__(
        self, repo: Any, agent: str, era: str, program: tuple[str, ...] = PROGRAM, **environ: str
    ) -> None:
        self.ids = itertools.count(1)
        self.heard: list[dict[str, Any]] = []
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


def queue_of(wire, path):
    return [one["agent"] for one in wire.call("status", paths=[path])["queue"]]


def until(look):
    """Poll until the condition is true; the test's timeout limits it."""
    end = time.monotonic() + 30
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)
