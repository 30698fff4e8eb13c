"""Measure the time from a release to the grant of the next waiter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from tests.servers import RedisServer

from bench.measure import Row, Section, median, percentile
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

if TYPE_CHECKING:
    from dibs.engines.base import Engine

ROUNDS = 150
BOUND = 50.0
PATH = [parse("src/a.py")]


def opened(kind: str, where: str) -> Engine:
    """Open the engine to measure."""
    if kind == "PostgreSQL":
        from dibs.engines.postgres.engine import PostgresEngine

        return PostgresEngine(where, "bench")
    return SqliteEngine(where) if kind == "SQLite" else RedisEngine(where, "bench")


def wait(kind: str, where: str) -> None:
    """Wait for the path repeatedly, in a separate process; print when it was granted."""
    store = Store(opened(kind, where), Config())
    claims, holdings, me = Claims(store), Holdings(store), Caller("waiter")
    for line in sys.stdin:
        if line.strip() != "wait":
            break
        claims.claim(me, PATH, wait=30)
        print(json.dumps(time.monotonic()), flush=True)
        holdings.release(me, PATH)
        print("ready", flush=True)
    store.engine.close()


def _samples(kind: str, where: str) -> list[float]:
    store = Store(opened(kind, where), Config())
    claims, holdings, me = Claims(store), Holdings(store), Caller("holder")
    program = [sys.executable, "-c", f"from bench.wake import wait; wait({kind!r}, {where!r})"]
    times = []
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    ) as waiter:
        assert waiter.stdin is not None
        assert waiter.stdout is not None
        for _ in range(ROUNDS):
            claims.claim(me, PATH)
            waiter.stdin.write("wait\n")
            waiter.stdin.flush()
            while not claims.all()[1]:
                time.sleep(0.002)
            time.sleep(0.02)
            released = time.monotonic()
            holdings.release(me, PATH)
            times.append(json.loads(waiter.stdout.readline()) - released)
            waiter.stdout.readline()
        waiter.stdin.close()
    store.engine.close()
    return times


def rows_of(kind: str, where: str) -> list[Row]:
    """Return the figures of one engine."""
    times = [1e3 * sample for sample in _samples(kind, where)]
    worst = percentile(times, 0.99)
    return [
        Row(f"{kind}: release to grant, p50", f"{median(times):.1f} ms"),
        Row(f"{kind}: same, p99", f"{worst:.1f} ms", f"< {BOUND:g} ms", worst < BOUND),
    ]


def waking() -> Section:
    """Time from the release call until the next waiter has its claim."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, RedisServer(os.path.join(folder, "r")) as server:
        places = {"SQLite": os.path.join(folder, "state", "dibs.db"), "Redis": server.url}
        for kind, where in places.items():
            rows += rows_of(kind, where)
    return Section(
        "Waking the next waiter", "Two processes; the waiter has been waiting for 20 ms.", rows
    )
