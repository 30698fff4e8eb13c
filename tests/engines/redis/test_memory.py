"""What a machine remembers of a Redis store never goes down, whatever the server replies."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from tests.servers import RedisServer

from dibs.core.claims.ledger import Kind
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.shared import memory as memories
from dibs.services.state.lifecycle import begin_life
from dibs.testing.steps import increment

#: More changes than the server can list for a client that has not looked meanwhile.
FAR = 1_100


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path / "server", aof="always") as server:
        yield server


@pytest.fixture
def memory(tmp_path):
    return str(tmp_path / "state" / "redis.json")


def opened(server, memory=""):
    return RedisEngine(server.url, "shop", memory=memory, renew=begin_life)


def once(server, memory, step=increment):
    engine = opened(server, memory)
    try:
        return engine.transact(step)
    finally:
        engine.close()


def many_changes_by_others(server, count=FAR):
    other = opened(server)
    numbers = [other.transact(increment) for _ in range(count)]
    other.close()
    return numbers[-1]


def numbers(txn):
    return [entry.seq for entry in txn.events()]


def restore(server, folder):
    server.stop()
    shutil.rmtree(f"{server.folder}/appendonlydir")
    shutil.copytree(folder, f"{server.folder}/appendonlydir")
    server.start()


def test_the_ledger_is_complete_after_many_changes_by_other_machines(server, memory):
    first = once(server, memory)
    last = many_changes_by_others(server)

    engine = opened(server, memory)

    assert engine.view(numbers) == list(range(first, last + 1))
    engine.close()


def test_a_handle_that_stayed_open_sees_many_changes_by_other_machines(server):
    engine = opened(server)
    first = engine.transact(increment)
    last = many_changes_by_others(server)

    assert engine.view(numbers) == list(range(first, last + 1))
    engine.close()


def test_the_mark_rises_with_many_changes_by_other_machines(server, memory):
    once(server, memory)
    last = many_changes_by_others(server)

    opened(server, memory).close()

    assert memories.recall(memory).newest == last


def test_a_server_restored_from_a_backup_issues_no_number_twice(server, memory, tmp_path):
    once(server, memory)
    many_changes_by_others(server)
    shutil.copytree(f"{server.folder}/appendonlydir", tmp_path / "backup")
    last = many_changes_by_others(server)
    opened(server, memory).close()

    restore(server, tmp_path / "backup")

    assert once(server, memory) > last


def test_a_backup_of_an_earlier_life_starts_a_new_one(server, memory, tmp_path):
    once(server, memory)
    shutil.copytree(f"{server.folder}/appendonlydir", tmp_path / "backup")
    server.call("FLUSHALL")
    last = once(server, memory)

    restore(server, tmp_path / "backup")

    assert once(server, memory) > last
    engine = opened(server, memory)
    kinds = engine.view(lambda txn: [entry.kind for entry in txn.events()])
    assert kinds.count(Kind.LEDGER_RESTARTED) == 1
    engine.close()


def test_a_process_that_closes_late_does_not_lower_the_mark(server, memory):
    idle = opened(server, memory)
    last = once(server, memory)

    idle.close()

    assert memories.recall(memory).newest == last
    assert memories.recall(memory).version > 0


def test_a_call_that_learns_nothing_does_not_lower_the_mark(memory):
    memories.remember(memory, memories.StoreMemory("a", 7, "ab", 40), firmly=False)

    memories.remember(memory, memories.StoreMemory("a", 0, "", 0), firmly=False)
    memories.remember(memory, memories.StoreMemory("b", 1, "cd", 12), firmly=False)

    assert memories.recall(memory)[:4] == ("a", 7, "ab", 40)


def test_a_killed_process_has_remembered_what_it_saw_some_time_ago(server, memory):
    engine = opened(server, memory)
    first = engine.transact(increment)
    engine._session.remembered -= memories.REMEMBER_EVERY

    last = engine.transact(increment)

    assert first < last == memories.recall(memory).newest  # although it was never closed
    engine.close()


@pytest.mark.parametrize("damage", ["", "[]", "null", "{", '{"newest": "x"}', '{"unknown": 1}'])
def test_a_damaged_memory_is_replaced(server, memory, damage):
    last = once(server, memory)
    with open(memory, "w", encoding="utf-8") as file:
        file.write(damage)

    assert once(server, memory) > last

    with open(memory, encoding="utf-8") as file:
        assert json.load(file)["newest"] > last


def test_a_memory_that_cannot_be_written_does_not_fail_the_change(server, memory):
    once(server, memory)
    os.unlink(memory)
    os.mkdir(memory)

    assert once(server, memory)
