"""Measure the server with as many agents as a large crew has, at the rate at which they call."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import Row, Section, percentile

AGENTS, RATE, SECONDS = 500, 5, int(os.environ.get("DIBS_BENCH_SECONDS", "60"))
#: Seconds before the measurement, in which everyone connects.
WARM = 5.0
_DIBS = (sys.executable, "-c", "from dibs.cli import program; program()")


def agents() -> Section:
    """Let 500 agents send 5 calls per second each for a minute; show latency, rate, and memory."""
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        environ = _environment(Path(base))
        repo = Path(base) / "repo"
        for words in (
            ["git", "init", "-q", str(repo)],
            [*_DIBS, "init", "--yes", "--agents", "none"],
        ):
            subprocess.run(words, cwd=repo if repo.exists() else base, env=environ, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
        tokens = _tokens(Path(base) / "state" / "dibs" / "server", repo)
        port = str(_free_port())
        serve = [*_DIBS, "serve", "--json", "--port", port]
        with subprocess.Popen(serve, cwd=repo, env=environ, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            try:
                load = [sys.executable, "-m", "bench.server_load", port, str(server.pid)]
                done = subprocess.run(load, input=json.dumps(tokens), text=True,
                                      capture_output=True, check=True)  # fmt: skip
            finally:
                server.terminate()
    return _section(json.loads(done.stdout))


def _section(found: dict[str, Any]) -> Section:
    slow, growth = found["p99"] * 1e3, found["after"] / found["before"]
    rows = [
        Row("calls per second", f"{found['rate']:.0f} of {AGENTS * RATE}"),
        Row("a call, p50", f"{found['p50'] * 1e3:.1f} ms"),
        Row("a call, p99", f"{slow:.1f} ms", "≤ 100 ms", slow <= 100),
        Row("calls that failed", str(found["failed"]), "0", not found["failed"]),
        Row("memory after the first 10 seconds and at the end",
            f"{found['before']:.0f} and {found['after']:.0f} MiB", "≤ 1.1x", growth <= 1.1),
    ]  # fmt: skip
    note = (
        f"{AGENTS} agents, {RATE} calls per second each, {SECONDS} s: claim, renew, check, status of its own,"
        " release. Latency counts from the moment at which a call was due. Client and server share the"
        " machine."
    )
    return Section("Server: a large crew", note, rows)


def _environment(base: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "XDG_"))}
    for name in ("home", "state", "run"):
        (base / name).mkdir(mode=0o700)
    return kept | {
        "HOME": str(base / "home"),
        "XDG_STATE_HOME": str(base / "state"),
        "XDG_RUNTIME_DIR": str(base / "run"),
    }


def _tokens(folder: Path, repo: Path) -> list[str]:
    from dibs.project.location import locate
    from dibs.server.projects import project_id
    from dibs.server.security.identity import TokenScope
    from dibs.server.security.tokens import TokenStore

    folder.mkdir(parents=True, mode=0o700)
    place = locate(str(repo)).repository
    store = TokenStore(str(folder))
    return [
        store.new(
            TokenScope.AGENT, agent=f"agent-{n}", project=project_id(place.state), folder=place.root
        )[0]
        for n in range(AGENTS)
    ]


def _free_port() -> int:
    for port in range(21000, 29999):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError


class _Agent:
    """One agent with one connection."""

    def __init__(self, number: int, token: str, port: int) -> None:
        self._number, self._token, self._port = number, token, port
        self.times: list[float] = []
        self.failed = 0

    async def work(self, start: float, end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        due = start + random.random() / RATE
        turn = self._number
        while due < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(self._request(turn))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            if due > start + WARM:
                self.times.append(time.perf_counter() - due)
                self.failed += not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201"))
            turn += 1
            due += 1 / RATE
        writer.close()

    def _request(self, turn: int) -> bytes:
        mine = f"src/part{self._number}/file{turn // 5 % 20}.py"
        method, path, body = (
            ("POST", "/claims", {"patterns": [mine], "reason": "load"}),
            ("POST", "/claims/renew", {}),
            ("POST", "/claims/check", {"patterns": [mine]}),
            ("GET", f"/claims?agent=agent-{self._number}", None),
            ("POST", "/claims/release", {"patterns": [mine]}),
        )[turn % 5]
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else "Content-Type: application/json\r\n"
        head = (
            f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{kind}"
            f"Authorization: Bearer {self._token}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        return head.encode() + data


def _memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def _load(port: int, pid: int, tokens: list[str]) -> dict[str, Any]:
    crew = [_Agent(number, token, port) for number, token in enumerate(tokens)]
    start = time.perf_counter() + 0.5
    end = start + WARM + SECONDS
    work = [asyncio.create_task(agent.work(start, end)) for agent in crew]
    await asyncio.sleep(min(10.0, SECONDS / 2))
    before = _memory(pid)
    await asyncio.gather(*work)
    times = [one for agent in crew for one in agent.times]
    return {
        "p50": percentile(times, 0.5), "p99": percentile(times, 0.99), "rate": len(times) / SECONDS,
        "failed": sum(agent.failed for agent in crew), "before": before, "after": _memory(pid),
    }  # fmt: skip


if __name__ == "__main__":
    found = asyncio.run(_load(int(sys.argv[1]), int(sys.argv[2]), json.load(sys.stdin)))
    print(json.dumps(found))
