"""Faults between a client and its Redis server: nothing happens twice, and no guess is reported as fact."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.servers import FaultProxy, RedisServer

from dibs.engines.redis.engine import RedisEngine
from dibs.errors import Unavailable, Unknown
from dibs.testing.steps import everything, increment, put

TIMEOUT = 1.5
#: How much longer than its timeout a call may take on a busy machine.
SLACK = 6.0


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
def proxy(server):
    with FaultProxy(server) as proxy:
        yield proxy


@pytest.fixture
def far(server, proxy):
    """A handle behind the proxy."""
    engine = RedisEngine(server.url_of(0, proxy.port), "shop", timeout=TIMEOUT)
    yield engine
    proxy.heal()
    engine.close()


@pytest.fixture
def near(server):
    """A handle next to it, which no fault affects."""
    engine = RedisEngine(server.url, "shop")
    yield engine
    engine.close()


def count(engine):
    return int(engine.view(lambda txn: txn.get("count")) or 0)


def ends_in_time(call, *errors):
    started = time.monotonic()
    with pytest.raises(errors) as caught:
        call()
    assert time.monotonic() - started < TIMEOUT + SLACK
    return caught.value


def test_a_write_whose_reply_is_lost_counts_once(far, near, proxy):
    far.transact(increment)

    proxy.drop_reply(after=b"write")
    number = far.transact(increment)

    assert (count(near), count(far)) == (2, 2)
    assert near.view(lambda txn: [entry.seq for entry in txn.events()])[-1] == number


@pytest.mark.parametrize("times", [3])
def test_writes_whose_replies_are_lost_again_and_again_count_once_each(far, near, proxy, times):
    for _ in range(times):
        proxy.drop_reply(after=b"write")
        far.transact(increment)

    assert count(near) == times


def test_a_request_that_is_cut_off_halfway_is_sent_again(far, near, proxy):
    far.transact(increment)

    proxy.cut_after(40, ("requests",))
    far.transact(increment)

    assert count(near) == 2


def test_a_write_into_a_black_hole_is_unknown_and_a_read_is_unavailable(far, near, proxy):
    far.transact(increment)

    proxy.swallow()

    ends_in_time(lambda: far.transact(increment), Unknown)
    ends_in_time(lambda: far.view(lambda txn: txn.get("count")), Unavailable)
    assert ends_in_time(lambda: far.transact(increment), Unavailable).code == "REDIS_UNREACHABLE"
    proxy.heal()
    proxy.reset()
    assert count(far) == count(near)


def test_a_write_whose_reply_never_arrives_is_unknown_and_can_be_settled_later(far, near, proxy):
    far.transact(increment)

    proxy.swallow(("replies",))
    ends_in_time(lambda: far.transact(increment), Unknown)

    assert count(near) == 2  # it had happened
    proxy.heal()
    proxy.reset()
    assert count(far) == 2


def test_a_client_that_is_cut_off_permanently_learns_that_nothing_happened(far, near, proxy):
    far.transact(increment)

    proxy.refuse()
    proxy.reset()
    time.sleep(0.05)  # until the reset has arrived; before, no one could know

    ends_in_time(lambda: far.transact(increment), Unavailable)
    assert count(near) == 1
    proxy.heal()
    assert far.transact(increment)


def test_no_one_notices_a_connection_that_breaks_while_idle(far, proxy):
    far.transact(increment)

    proxy.reset()

    far.transact(increment)
    assert count(far) == 2


def test_while_the_server_is_frozen_no_one_gets_a_wrong_answer(server, tmp_path):
    engine = RedisEngine(server.url, "shop", timeout=TIMEOUT)
    engine.transact(increment)
    server.pause()
    try:
        ends_in_time(lambda: engine.transact(increment), Unknown)
        ends_in_time(lambda: engine.view(lambda txn: txn.get("count")), Unavailable)
    finally:
        server.resume()
    # The store knows which of the two happened; a repeat counts once.
    before = count(engine)
    assert before in (1, 2)
    engine.transact(increment)
    assert count(engine) == before + 1
    engine.close()


def test_waiting_survives_a_server_that_is_briefly_gone(tmp_path):
    with RedisServer(tmp_path, aof="always") as server:
        waiter = RedisEngine(server.url, "shop", timeout=10.0)
        newest = waiter.transact(increment)
        found = []
        watching = threading.Thread(target=lambda: found.append(waiter.wait(newest, 20)))
        watching.start()
        time.sleep(0.1)
        server.kill()
        server.start()
        other = RedisEngine(server.url, "shop")
        number = other.transact(increment)
        watching.join(20)
        other.close()
        waiter.close()

    assert found == [number]


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


def test_a_forked_process_opens_its_own_connection(server):
    program = f"""
import os
from dibs.engines.redis.engine import RedisEngine
from dibs.testing.steps import add_up
engine = RedisEngine({server.url!r}, "shop")
add_up(engine, 1)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        add_up(engine, 20)
        os._exit(0)
    children.append(child)
add_up(engine, 20)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
print(engine.view(lambda txn: txn.get("count")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
    )

    assert (done.stdout, done.stderr) == ("81\n", "")
