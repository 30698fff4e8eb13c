"""A job of several servers runs once per interval, also if a server dies."""

import subprocess
import sys
import threading

import pytest
from tests.services.engines import common_store, on, redis, sqlite

from dibs.config.load import Config
from dibs.local.processes import realm, running
from dibs.services.schedule.leases import Leases, this_process
from dibs.services.state.store import Store

EVERY, LEASE = 60.0, 30.0


@on(sqlite, redis)
def stores(request):
    """The same store, opened by eight servers."""
    with common_store(request) as another:
        yield [Store(another(), Config()) for _ in range(8)]


def servers(crew, *names):
    return [Leases(crew.store, name) for name in names]


def test_one_server_runs_a_job_and_it_is_due_again_after_its_interval(crew):
    one, other = servers(crew, "one", "other")
    assert one.take("prune", EVERY, LEASE)
    assert not other.take("prune", EVERY, LEASE)
    one.done("prune")
    for moved, taken in ((0.0, False), (58.9, False), (1.1, True)):
        crew.clock.now += moved
        assert other.take("prune", EVERY, LEASE) == taken
    assert not one.take("prune", EVERY, LEASE)


def test_other_jobs_are_independent(crew):
    one, other = servers(crew, "one", "other")
    assert one.take("prune", EVERY, LEASE)
    assert other.take("forecast", EVERY, LEASE)


def test_the_job_of_a_server_that_died_is_taken_when_its_lease_ends(crew):
    one, other = servers(crew, "one", "other")
    assert one.take("prune", EVERY, LEASE)
    crew.clock.now += LEASE - 0.1
    assert not other.take("prune", EVERY, LEASE)
    crew.clock.now += 0.1
    assert other.take("prune", EVERY, LEASE)
    one.done("prune")  # it was only suspended; the job is the other's now
    assert not one.take("prune", EVERY, LEASE)
    assert not one.keep("prune", LEASE)


def test_a_server_that_needs_longer_keeps_its_job(crew):
    one, other = servers(crew, "one", "other")
    assert one.take("prune", EVERY, LEASE)
    for _ in range(10):
        crew.clock.now += LEASE - 1
        assert one.keep("prune", LEASE)
    assert not other.take("prune", EVERY, LEASE)


def test_one_server_leads_until_it_is_done_or_dies(crew, monkeypatch):
    one, other = servers(crew, "one", "other")
    steps = []
    transact = crew.engine.transact
    monkeypatch.setattr(crew.engine, "transact", lambda step: steps.append(1) or transact(step))
    for _ in range(20):
        assert one.lead("cycle", LEASE)
        assert not other.lead("cycle", LEASE)
        crew.clock.now += 5.0
    assert len(steps) == 100 / (LEASE / 2) // 1 + 1
    one.done("cycle")
    assert other.lead("cycle", LEASE)
    crew.clock.now += LEASE
    assert one.lead("cycle", LEASE)
    assert not other.lead("cycle", LEASE)


def test_the_job_of_a_dead_process_of_this_machine_is_free_at_once(crew):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        born = running(child.pid).born
        dying = Leases(crew.store, f"{realm()} {child.pid} {born}")
        assert dying.take("prune", EVERY, LEASE)
        heir = Leases(crew.store)
        assert not heir.take("prune", EVERY, LEASE)
        child.kill()
    assert heir.take("prune", EVERY, LEASE)


def test_a_process_has_a_name_of_its_own():
    assert this_process() == this_process()
    other = "from dibs.services.schedule.leases import this_process; print(this_process())"
    found = subprocess.run(
        [sys.executable, "-c", other], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() != this_process()


@pytest.mark.parametrize("way", ["take", "lead"])
def test_of_many_servers_at_once_exactly_one_gets_a_job(stores, way):
    start, taken = threading.Barrier(len(stores)), []

    def rush(number, store):
        lease = Leases(store, f"server-{number}")
        start.wait()
        got = lease.take("prune", EVERY, LEASE) if way == "take" else lease.lead("prune", LEASE)
        if got:
            taken.append(number)

    rushing = [threading.Thread(target=rush, args=pair) for pair in enumerate(stores)]
    for thread in rushing:
        thread.start()
    for thread in rushing:
        thread.join()
    assert len(taken) == 1
