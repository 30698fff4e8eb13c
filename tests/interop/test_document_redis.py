"""The Redis document's examples, on a real server, with the real programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from scripts.sessions import Terminal, normal, replay
from tests.servers.processes import until

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/how-to/from-redis-claims.md"
PROGRAMS = Path(sys.executable).parent
KEY = "claim:src/auth/login.ts"


@pytest.fixture
def client(redis_server, redis_url):
    with redis_server.client(redis_url) as client:
        yield client


@pytest.fixture
def terminal(tmp_path, redis_server, redis_url):
    """A terminal in a repository with the page's settings; ``redis-cli`` talks to the test's server."""
    own = tmp_path / "own"
    own.mkdir()
    script = f'#!/bin/sh\nexec /usr/bin/env -i redis-cli -u {redis_url} "$@"\n'
    (own / "redis-cli").write_text(script)
    (own / "redis-cli").chmod(0o755)
    found = Terminal(tmp_path, PROGRAMS)
    found.variables["PATH"] = f"{own}:{found.variables['PATH']}"
    (settings,) = re.findall(r"(?ms)^```toml\n(.*?)^```", PAGE.read_text("utf-8"))
    (found.folder / "dibs.toml").write_text(settings.replace("redis://127.0.0.1:6379/0", redis_url))
    found.run("mkdir -p auth src/auth; touch auth/login.ts auth/types.ts src/auth/login.ts")
    found.run("git add -A && git commit -q -m files")
    yield found
    found.close()


def test_the_examples_of_the_page_run_as_shown(terminal):
    text = PAGE.read_text("utf-8")

    actual = replay(text, terminal)

    numbers = re.compile(r"\bd?\d{5,}\b")
    shown, now = (numbers.sub("N", page).splitlines() for page in (text, actual))
    assert normal(now) == normal(shown)


def test_the_documents_pipeline_sees_what_is_claimed(terminal, client):
    terminal.run("dibs claim src/auth/login.ts --agent agent-a")
    pipeline = client.pipeline(transaction=False)
    for file in ("src/auth/login.ts", "src/auth/free.ts"):
        pipeline.set(f"claim:{file}", "agent-n", px=30_000, nx=True)

    assert pipeline.execute() == [None, True]
    assert client.get(KEY) == "agent-a"
    terminal.run("dibs release --all --agent agent-a")
    assert client.get("claim:src/auth/free.ts") == "agent-n"


@pytest.fixture
def running(terminal, tmp_path):
    """``dibs run`` as agent-a, which holds the file until the test ends it."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    started = []

    def start(**settings):
        command = ["dibs", "run", "--claim", "src/auth/login.ts", "--", "cat", str(gate)]
        environ = {**terminal.variables, "DIBS_AGENT": "agent-a", **settings}
        started.append(
            subprocess.Popen(
                [PROGRAMS / command[0], *command[1:]], cwd=terminal.folder, env=environ,
                start_new_session=True,
            )
        )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_heartbeats_on_a_timer_keep_the_key_alive(running, client):
    calls, shortest = [], 10_000
    with client.monitor() as monitor:
        running(DIBS_TTL="9s", DIBS_HEARTBEAT="1s")
        while len(calls) < 5:
            told = monitor.next_command()
            if told["command"].startswith(f"PEXPIREAT {KEY} "):
                calls.append(told["time"])
            if calls:
                shortest = min(shortest, client.pttl(KEY))

    gaps = [later - one for one, later in pairwise(calls[1:])]
    assert all(0.7 < gap < 3 for gap in gaps), gaps
    assert shortest > 5_500


def test_a_killed_agents_claim_expires_and_the_next_agent_gets_it(running, terminal, client):
    process = running(DIBS_TTL="5s")
    until(lambda: client.get(KEY) == "agent-a", "the claim")
    os.killpg(process.pid, signal.SIGKILL)
    killed = time.monotonic()
    terminal.variables["DIBS_TTL"] = "5s"
    assert terminal.run("dibs claim src/auth/login.ts --agent agent-b")[0].startswith("denied")

    granted = terminal.run("dibs claim src/auth/login.ts --agent agent-b --wait 20s")

    assert any(line.startswith("granted") for line in granted)
    assert time.monotonic() - killed > 3
    assert client.get(KEY) == "agent-b"
    agents = json.loads("\n".join(terminal.run("dibs agent ls --all --json")))["agents"]
    assert {one["id"]: one["status"] for one in agents}["agent-a"] == "idle"
