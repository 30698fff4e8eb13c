"""Lives of a Redis store: whatever a server may have lost, no number repeats and no old token is valid."""

from __future__ import annotations

import threading
import time

import pytest
from tests.engines.agents import Agent, assert_fenced, reasons
from tests.servers import FaultProxy, RedisServer

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.shared import memory as memories
from dibs.engines.shared.clock import Sources
from dibs.services.state.lifecycle import begin_life
from dibs.testing import ManualClock
from dibs.testing.steps import increment

META = "dibs:{shop}:meta"


@pytest.fixture
def agent():
    agents = []

    def make(name, url, *where, **options):
        memory = str(where[0]) if where else ""
        engine = RedisEngine(url, "shop", memory=memory, renew=begin_life, **options)
        agents.append(Agent(name, engine))
        return agents[-1]

    yield make
    for one in agents:
        one.engine.close()


FIELDS = ("life", "version", "nonce", "rows", "newest", "latest", "offset", "turn_ends")


def tamper(server, field, change):
    """Change a number in the script's state, as no client of ours would."""
    state = server.call("HGET", META, "state").split("|")
    place = FIELDS.index(field)
    state[place] = str(int(state[place]) + change)
    server.call("HSET", META, "state", "|".join(state))


def test_after_flushall_a_new_life_starts_and_old_tokens_are_fenced(server, agent):
    alice, bob = agent("alice", server.url), agent("bob", server.url)
    old = alice.claim().token

    server.call("FLUSHALL")
    answer = bob.claim()

    assert isinstance(answer, Granted)
    assert answer.token > old
    assert_fenced(alice, old)
    assert bob.release(answer.token)


def test_a_machine_without_memory_numbers_by_the_clock(server, agent, monkeypatch):
    alice = agent("alice", server.url)
    old = alice.claim().token
    alice.engine.close()

    server.call("FLUSHALL")
    monkeypatch.setattr(memories, "wall", lambda: time.time() + 1)
    bob = agent("bob", server.url)

    assert bob.claim().token > old


def test_the_memory_file_of_a_machine_keeps_numbers_growing_after_flushall(server, agent, tmp_path):
    memory = tmp_path / "state" / "redis.json"
    alice = agent("alice", server.url, memory)
    for _ in range(5):
        old = alice.claim("a").token
        alice.release(old, "a")
    alice.engine.close()

    server.call("FLUSHALL")
    bob = agent("bob", server.url, memory)

    assert bob.claim().token > old
    assert bob.engine.view(lambda txn: [e.kind for e in txn.events()])[0] == Kind.LEDGER_RESTARTED


@pytest.mark.parametrize("name", ["meta", "values", "keys"])
def test_a_deleted_key_ends_the_life(server, agent, name):
    alice, bob = agent("alice", server.url), agent("bob", server.url)
    old = alice.claim().token

    server.call("DEL", f"dibs:{{shop}}:{name}")

    assert bob.claim().token > old
    assert_fenced(alice, old)


def test_a_store_that_was_rolled_back_starts_a_new_life(server, agent):
    alice, bob = agent("alice", server.url), agent("bob", server.url)
    bob.claim("b")
    old = alice.claim().token
    tamper(server, "version", -1)  # as after restoring a dump

    bob.claim("c")
    alice_again = agent("alice", server.url)

    assert alice_again.claim().token > old
    assert_fenced(alice, old)


def test_a_restart_that_may_have_lost_writes_ends_the_life(tmp_path, agent):
    with RedisServer(tmp_path / "server", aof="everysec") as server:
        alice, bob = agent("alice", server.url), agent("bob", server.url)
        old = alice.claim().token
        server.stop()
        server.start()

        assert bob.claim().token > old
        assert_fenced(alice, old)
        assert Kind.LEDGER_RESTARTED in bob.engine.view(lambda txn: [e.kind for e in txn.events()])


def test_a_restart_that_lost_nothing_keeps_claims_and_tokens(tmp_path, agent):
    with RedisServer(tmp_path / "server", aof="always") as server:
        alice, bob = agent("alice", server.url), agent("bob", server.url)
        old = alice.claim().token
        server.kill()
        server.start()

        assert not isinstance(bob.claim(), Granted)
        assert alice.release(old)


def test_a_killed_server_with_every_write_on_disk_loses_nothing(tmp_path, agent):
    answered: dict[str, list[int]] = {"one": [], "two": [], "three": []}
    stop = threading.Event()

    def work(name, url):
        engine = RedisEngine(url, "shop", timeout=15.0, renew=begin_life)
        while not stop.is_set():
            answered[name].append(engine.transact(increment))
        engine.close()

    with RedisServer(tmp_path / "server", aof="always") as server:
        threads = [threading.Thread(target=work, args=(name, server.url)) for name in answered]
        for thread in threads:
            thread.start()
        for _ in range(4):
            time.sleep(0.15)
            server.kill()
            server.start()
        time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(30)
        engine = agent("alice", server.url).engine
        kept = engine.view(lambda txn: [entry.seq for entry in txn.events()])
        count = engine.view(lambda txn: txn.get("count"))

    numbers = [number for some in answered.values() for number in some]
    assert len(set(numbers)) == len(numbers) > 0
    assert set(numbers) <= set(kept)
    # A write that was cut off and settled counts once; nothing is applied that no one requested.
    assert int(count) == len(kept) == len(numbers)


def test_a_failover_that_lost_the_newest_writes_fences_them(tmp_path, agent):
    with RedisServer(tmp_path / "one") as primary, RedisServer(tmp_path / "two") as replica:
        with FaultProxy(primary) as link:
            replica.replica_of(link)
            alice = agent("alice", primary.url)
            alice.claim("before")
            primary.call("WAIT", 1, 2000)
            link.swallow()
            lost = alice.claim()
            primary.kill()
            replica.promote()

        bob = agent("bob", replica.url)
        answer = bob.claim()

        assert isinstance(answer, Granted)
        assert answer.token > lost.token
        back = agent("alice", replica.url)
        assert_fenced(back, lost.token)
        assert_fenced(back, lost.token, "before")


@pytest.mark.parametrize("jump", [3600, -3600, 5])
def test_a_jump_of_the_servers_clock_ends_the_life_and_time_continues(server, agent, jump):
    alice, bob = agent("alice", server.url), agent("bob", server.url)
    old = alice.claim().token
    before = alice.engine.view(lambda txn: txn.now)

    tamper(server, "offset", jump * 1_000_000)

    assert isinstance(bob.claim("other"), Granted)
    assert any(f"jumped by {jump:+}" in why for why in reasons(bob))
    assert_fenced(alice, old)
    assert before <= alice.engine.view(lambda txn: txn.now) < before + 5


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_jump_between_two_calls_of_one_machine_is_noticed(server, agent, tmp_path, jump):
    memory = tmp_path / "state" / "redis.json"
    alice = agent("alice", server.url, memory)
    old = alice.claim().token
    alice.engine.close()

    tamper(server, "offset", jump * 1_000_000)
    bob = agent("bob", server.url, memory)

    assert bob.claim().token > old
    assert any("clock jumped" in why for why in reasons(bob))


def test_time_that_passed_while_the_machine_was_off_is_not_a_jump(server, agent, tmp_path):
    memory = tmp_path / "state" / "redis.json"
    clock = ManualClock(100.0)
    sources = Sources(clock, time.time, lambda: "boot-1")
    alice = agent("alice", server.url, memory, sources=sources)
    old = alice.claim().token
    alice.engine.close()
    tamper(server, "offset", 3_600_000_000)

    clock.now = 5.0
    bob = agent("bob", server.url, memory, sources=Sources(clock, time.time, lambda: "boot-2"))

    kinds = bob.engine.view(lambda txn: [e.kind for e in txn.events()])
    assert Kind.LEDGER_RESTARTED not in kinds
    assert bob.engine.view(lambda txn: txn.now) > 0
    assert old


def test_many_clients_that_notice_a_loss_start_one_life(server, agent):
    agents = [agent(f"a{number}", server.url) for number in range(8)]
    agents[0].claim()

    server.call("FLUSHALL")
    answers = []
    threads = [
        threading.Thread(target=lambda one=one: answers.append(one.claim())) for one in agents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sum(isinstance(answer, Granted) for answer in answers) == 1
    kinds = agents[0].engine.view(lambda txn: [e.kind for e in txn.events()])
    assert kinds.count(Kind.LEDGER_RESTARTED) == 1
