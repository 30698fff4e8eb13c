"""Faults between a client and its Redis server: nothing happens twice, and no guess is reported as fact."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.engines.server_faults import ServerFaults
from tests.servers import RedisServer

from dibs.engines.redis.engine import RedisEngine
from dibs.errors import Unavailable
from dibs.testing.steps import everything, put


@pytest.fixture
def near(server):
    """A handle next to it, which no fault affects."""
    engine = RedisEngine(server.url, "shop")
    yield engine
    engine.close()


class TestRedis(ServerFaults):
    write = b"write"
    unreachable = "REDIS_UNREACHABLE"

    @pytest.fixture
    def server(self, tmp_path):
        with RedisServer(tmp_path / "server", aof="always") as server:
            yield server

    @pytest.fixture
    def connect(self, server):
        opened = []

        def connect(port=0, timeout=5.0):
            opened.append(
                RedisEngine(server.url_of(0, port or server.port), "shop", timeout=timeout)
            )
            return opened[-1]

        importing = "from dibs.engines.redis.engine import RedisEngine"
        self.elsewhere = f"{importing}\nengine = RedisEngine({server.url!r}, 'shop')"
        yield connect
        for engine in opened:
            engine.close()


def test_a_client_killed_inside_a_transaction_changes_nothing_and_blocks_no_one(server, near):
    program = f"""
import os, signal
from dibs.engines.redis.engine import RedisEngine
engine = RedisEngine({server.url!r}, "shop")
def step(txn):
    txn.put("half", "done")
    if engine.tries:
        os.kill(os.getpid(), signal.SIGKILL)
engine.tries = 0
engine.transact(step)
engine.tries = 1
engine.transact(lambda txn: (txn.delete("half"), step(txn)))
"""
    put(near, kept="yes")

    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=30)

    assert done.returncode == -signal.SIGKILL
    assert everything(near) == [("half", "done"), ("kept", "yes")]


def test_a_server_without_memory_refuses_and_keeps_its_data(tmp_path):
    with RedisServer(tmp_path, "maxmemory-policy noeviction") as server:
        engine = RedisEngine(server.url, "shop")
        put(engine, kept="yes")
        server.call("CONFIG", "SET", "maxmemory", "1mb")

        def fill():
            for number in range(200):
                put(engine, **{f"k{number}": "x" * 100_000})

        with pytest.raises(Unavailable) as caught:
            fill()

        assert caught.value.code == "STORAGE_FULL"
        server.call("CONFIG", "SET", "maxmemory", "0")
        assert engine.view(lambda txn: txn.get("kept")) == "yes"
        put(engine, more="room")
        engine.close()
