"""Redis over slow lines, after losses, and with foreign writes: nothing is corrupted, no one starves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from tests.servers import FaultProxy

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.redis.connection import RedisConnection
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.shared import memory as memories
from dibs.engines.shared.memory import StoreMemory, base_of_life
from dibs.errors import Misconfigured, Unavailable
from dibs.services.claims.service import Claims
from dibs.services.state.ledger import Ledger
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.store import Store
from dibs.testing.steps import entries, everything, increment, put


@pytest.fixture
def proxy(server):
    with FaultProxy(server) as proxy:
        yield proxy


@pytest.fixture
def open_engine(server):
    opened = []

    def open_engine(port=0, **options):
        opened.append(RedisEngine(server.url_of(0, port), "shop", **options))
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()


def lives(engine):
    return [entry for entry in entries(engine) if entry.kind == Kind.LEDGER_RESTARTED]


def test_a_line_with_a_long_round_trip_is_slow_but_works(open_engine, proxy):
    far, near = open_engine(proxy.port, timeout=10.0), open_engine()
    proxy.delay(0.15)

    for _ in range(3):
        far.transact(increment)
        near.transact(increment)

    assert near.view(lambda txn: txn.get("count")) == "6"


def test_a_slow_step_runs_once(open_engine):
    engine, runs = open_engine(timeout=1.0), []
    engine.transact(increment)
    engine.view(lambda txn: txn.get("count"))

    def slow(txn):
        runs.append(1)
        time.sleep(0.3)
        return increment(txn)

    engine.transact(slow)

    assert len(runs) == 1


def test_a_reader_on_a_slow_line_does_not_starve_next_to_busy_writers(open_engine, proxy):
    far = open_engine(proxy.port, timeout=10.0)
    stop = threading.Event()

    def work(engine):
        while not stop.is_set():
            engine.transact(increment)

    writers = [threading.Thread(target=work, args=(open_engine(),)) for _ in range(2)]
    for writer in writers:
        writer.start()
    proxy.delay(0.02)
    try:
        for _ in range(3):
            assert far.view(lambda txn: (txn.get("count"), len(list(txn.scan(("count", ""))))))
            with pytest.raises(ZeroDivisionError):
                far.transact(lambda txn: int(txn.get("count")) // 0)
    finally:
        stop.set()
        for writer in writers:
            writer.join(20)


@pytest.mark.parametrize("late", ["first", "last"])
def test_a_late_reply_is_not_a_clock_jump(open_engine, proxy, tmp_path, late):
    memory = str(tmp_path / "state" / "redis.json")
    options = {"memory": memory, "renew": begin_life, "timeout": 15.0}
    one = open_engine(proxy.port, **options)
    one.transact(increment)
    if late == "last":
        proxy.delay(0.8, ("replies",))
        one.transact(increment)
        one.close()
        proxy.heal()
    else:
        one.close()
        proxy.delay(0.8, ("replies",))

    other = open_engine(proxy.port, **options)
    other.transact(increment)
    proxy.heal()

    assert lives(open_engine()) == []


def test_a_new_life_starts_among_thousands_of_claims(open_engine, server):
    store = Store(open_engine(), Config(ledger_limit=1_000_000))
    for agent in range(4):
        for start in range(0, 5000, 1000):
            paths = [parse(f"a{agent}/f{number}.py") for number in range(start, start + 1000)]
            Claims(store).claim(Caller(f"agent-{agent}"), paths)
    server.call("DEL", "dibs:{shop}:keys")

    heir = open_engine(renew=begin_life, timeout=10.0)
    answer = Claims(Store(heir, Config())).claim(Caller("bob"), [parse("a1/f7.py")])

    assert isinstance(answer, Granted)
    assert lives(heir)[0].details["claims"] == 20_000


def test_numbers_grow_across_lives_that_follow_each_other_within_seconds():
    memory, wall, numbers = StoreMemory(), 1_800_000_000.0, []
    for second in range(0, 60, 2):
        newest = base_of_life(wall + second, 0, memory) + 50
        numbers.append(newest)
        # The next machine remembers nothing, or everything, in turn.
        memory = StoreMemory(newest=newest) if second % 4 else StoreMemory()

    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("name", ["values", "keys", "ledger"])
def test_a_key_of_the_wrong_type_is_reported_by_name(open_engine, server, name):
    put(open_engine(), kept="yes")
    server.call("DEL", f"dibs:{{shop}}:{name}")
    server.call("SET", f"dibs:{{shop}}:{name}", "x")

    with pytest.raises(Unavailable, match=rf"dibs:\{{shop\}}:{name} is a string"):
        open_engine()


@pytest.mark.parametrize("right", ["xadd", "zadd", "hdel", "zrem", "xtrim", "hset"])
def test_a_user_without_a_needed_permission_is_refused_before_anything_is_written(
    open_engine, server, right
):
    put(open_engine(), kept="yes")
    server.call("ACL", "SETUSER", "few", "on", ">pw", "~*", "&*", "+@all", f"-{right}")
    url = server.url.replace("://", "://few:pw@")

    with pytest.raises(Misconfigured) as caught:
        RedisEngine(url, "shop")

    assert caught.value.code == "REDIS_AUTH"
    assert everything(open_engine()) == [("kept", "yes")]


def test_missing_rows_do_not_grant_a_path_twice_in_one_life(open_engine, server):
    crew = [open_engine(renew=begin_life) for _ in range(2)]
    alice, bob = (Claims(Store(engine, Config())) for engine in crew)
    bob.claim(Caller("bob"), [parse("other.py")])
    first = alice.claim(Caller("alice"), [parse("src/a.py")])

    server.call("DEL", "dibs:{shop}:values")
    second = bob.claim(Caller("bob"), [parse("src/a.py")])

    restarted = [entry.seq for entry in lives(open_engine())]
    assert isinstance(first, Granted)
    assert isinstance(second, Granted)
    assert len(restarted) == 1
    assert first.token < restarted[0] < second.token


@pytest.mark.parametrize("names", [("keys",), ("meta",), ("meta", "values"), ("meta", "keys")])
def test_many_clients_that_find_a_damaged_store_repair_it_once_and_continue(
    open_engine, server, names
):
    crew = [open_engine(renew=begin_life) for _ in range(6)]
    for engine in crew:
        engine.transact(increment)

    server.call("DEL", *(f"dibs:{{shop}}:{name}" for name in names))
    numbers, failures = [], []

    def work(engine):
        try:
            numbers.append(engine.transact(increment))
        except Exception as error:  # noqa: BLE001 - any failure is one too many
            failures.append(error)

    threads = [threading.Thread(target=work, args=(engine,)) for engine in crew]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert failures == []
    assert len(set(numbers)) == 6
    assert len(lives(open_engine())) == 1


def test_a_client_that_finds_a_damaged_store_late_starts_no_second_life(
    open_engine, server, monkeypatch
):
    first, late = open_engine(renew=begin_life), open_engine(renew=begin_life)
    late.transact(increment)
    repair = RedisConnection.repair

    def overtaken(link, until):
        monkeypatch.undo()
        first.transact(increment)
        repair(link, until)

    server.call("DEL", "dibs:{shop}:meta", "dibs:{shop}:values")
    monkeypatch.setattr(RedisConnection, "repair", overtaken)
    late.transact(increment)

    assert len(lives(open_engine())) == 1
    assert late.view(lambda txn: txn.get("count")) == "2"


def test_a_machine_without_memory_continues_above_the_remaining_ledger(
    open_engine, server, monkeypatch
):
    newest = open_engine().transact(increment)
    server.call("DEL", "dibs:{shop}:meta", "dibs:{shop}:values", "dibs:{shop}:keys")
    monkeypatch.setattr(memories, "wall", lambda: 0.0)

    assert open_engine().transact(increment) > newest


def test_a_forked_process_waits_on_its_own_connection(server):
    program = f"""
import os
from dibs.engines.redis.engine import RedisEngine
from dibs.testing.steps import increment
engine = RedisEngine({server.url!r}, "shop")
newest = engine.transact(increment)
assert engine.wait(0, 1) == newest
child = os.fork()
for _ in range(50):
    assert engine.wait(0, 1) == newest
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)

    assert done.returncode == 0


def test_a_handle_that_only_reads_does_not_grow_without_limit(open_engine):
    engine = open_engine()
    for number in range(6000):
        engine.view(lambda txn, number=number: txn.get(f"k{number}"))

    replica = engine._session.link(time.monotonic() + 5).replica
    assert len(replica.points) < 5000


def test_the_ledger_is_trimmed_by_entries_and_not_by_numbers(open_engine, server):
    engine = open_engine(renew=begin_life)
    store = Store(engine, Config(ledger_limit=100))
    for _ in range(30):
        engine.transact(increment)
    server.call("DEL", "dibs:{shop}:keys")
    for _ in range(30):
        engine.transact(increment)

    Ledger(store).trim()

    assert len(entries(engine)) == 61


def test_an_invalid_row_is_reported_in_one_clear_line(open_engine, server):
    engine = open_engine()
    claims = Claims(Store(engine, Config()))
    claims.claim(Caller("alice"), [parse("src/a.py")])
    engine.transact(lambda txn: txn.put("at/src/b.py//bob/c1", "garbage"))

    with pytest.raises(Unavailable) as caught:
        claims.claim(Caller("carol"), [parse("src/b.py")])

    assert caught.value.code == "STORE_DAMAGED"
    assert os.linesep not in caught.value.message
