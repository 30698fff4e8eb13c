"""Compare an MCP claim over HTTP with a tool that does nothing, each in its own server process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.measure import Row, Section, at_most, median

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, EACH = 20, 15

#: The minimal tool: the MCP SDK's server with a function that returns nothing.
_NOTHING = """
import socket, sys
from mcp.server import MCPServer
import uvicorn
server = MCPServer("nothing", log_level="CRITICAL")
@server.tool()
async def nothing() -> None:
    "Do nothing."
app = server.streamable_http_app()
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0)); listener.listen()
print('{"url": "http://127.0.0.1:%d/mcp"}' % listener.getsockname()[1], flush=True)
config = uvicorn.Config(app, log_config=None, access_log=False)
import asyncio
asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
"""


def claims() -> Section:
    """Compare claims over HTTP with calls to a tool that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        with open(f"{folder}/dibs.toml", "w", encoding="utf-8"):
            pass
        own = {"XDG_STATE_HOME": f"{folder}/.git/state", "XDG_RUNTIME_DIR": f"{folder}/.git"}
        dibs = [sys.executable, "-m", "dibs"]
        with (
            _served([sys.executable, "-c", _NOTHING], folder, {}) as base,
            _served([*dibs, "serve", "--port", "0", "--json"], folder, own) as url,
        ):
            new = subprocess.run(
                [*dibs, "token", "new", "--scope", "human"], cwd=folder, env=_environ(own),
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            samples = asyncio.run(_calls(base, f"{url}/mcp", new.stdout.strip()))
    nothing = median(samples["nothing"])
    share = {name: median(times) / nothing for name, times in samples.items()}
    rows = [
        Row("empty tool, p50", f"{nothing * 1e3:.1f} ms"),
        at_most("`claim`, unclaimed file / empty tool", share["claim"], 2),
        at_most("`claim`, own file / empty tool", share["again"], 2),
        at_most("`claim`, another agent's file / empty tool", share["refused"], 2),
    ]
    note = "The MCP SDK's client and server, one persistent connection, SQLite with default durability."
    return Section("MCP over HTTP", note, rows)


@contextmanager
def _served(command: list[str], folder: str, own: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(
        command, cwd=folder, env=_environ(own), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.wait()


def _environ(own: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")} | own


async def _calls(base: str, url: str, token: str) -> dict[str, list[float]]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from mcp import Client

    samples: dict[str, list[float]] = {"nothing": [], "claim": [], "again": [], "refused": []}
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers={**headers, "Dibs-Agent": "alice"}) as alice,
        httpx2.AsyncClient(headers={**headers, "Dibs-Agent": "bob"}) as bob,
        Client(base) as plain,
        Client(streamable_http_client(url, http_client=alice)) as mine,
        Client(streamable_http_client(url, http_client=bob)) as other,
    ):
        await other.call_tool("claim", {"paths": ["theirs.py"]})
        for turn in range(ROUNDS):
            cases = {
                "nothing": lambda _: plain.call_tool("nothing", {}),
                "claim": lambda n: mine.call_tool("claim", {"paths": [f"src/{n}.py"]}),
                "again": lambda _: mine.call_tool("claim", {"paths": ["src/0.py"]}),
                "refused": lambda _: mine.call_tool("claim", {"paths": ["theirs.py"]}),
            }
            for name, call in cases.items():
                for number in range(turn * EACH, (turn + 1) * EACH):
                    start = time.perf_counter()
                    await call(number)
                    samples[name].append(time.perf_counter() - start)
    return samples


if __name__ == "__main__":
    for row in claims().rows:
        print(row.what, row.figure, row.goal, row.met)
