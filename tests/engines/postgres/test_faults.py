"""Faults between a client and its PostgreSQL server: nothing happens twice, and no guess is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import psycopg
import pytest
from tests.engines.server_faults import SLACK, TIMEOUT, ServerFaults, count
from tests.servers import FaultProxy, PostgresServer

from dibs.engines.postgres.engine import PostgresEngine
from dibs.engines.shared import memory as memories
from dibs.errors import DibsError, Unavailable, Unknown
from dibs.testing.steps import entries, everything, increment, put


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with PostgresServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def url(server):
    url = server.database()
    yield url
    server.drop(url)


@pytest.fixture
def proxy(server):
    with FaultProxy(server) as proxy:
        yield proxy


@pytest.fixture
def far(server, url, proxy):
    """A handle behind the proxy."""
    name = url.rpartition("/")[2]
    engine = PostgresEngine(server.url_of(name, proxy.port), "shop", timeout=TIMEOUT)
    yield engine
    proxy.heal()
    engine.close()


@pytest.fixture
def near(url):
    """A handle next to it, which no fault affects."""
    engine = PostgresEngine(url, "shop")
    yield engine
    engine.close()


class TestPostgres(ServerFaults):
    write = b"one more"
    unreachable = "POSTGRES_UNREACHABLE"

    @pytest.fixture
    def connect(self, server, url):
        opened = []

        def connect(port=0, timeout=5.0):
            there = server.url_of(url.rpartition("/")[2], port)
            opened.append(PostgresEngine(there, "shop", timeout=timeout))
            return opened[-1]

        importing = "from dibs.engines.postgres.engine import PostgresEngine"
        self.elsewhere = f"{importing}\nengine = PostgresEngine({url!r}, 'shop')"
        yield connect
        for engine in opened:
            engine.close()


def test_a_late_write_of_a_client_that_gave_up_is_never_applied(far, near, server, url, proxy):
    """The write waits in line for the lock; its client is gone, and has learned that nothing happened."""
    far.transact(increment)
    before = server.sql("SELECT version FROM dibs.project", url)
    locker = PostgresEngine(url, "shop")
    link = locker._session.link(time.monotonic() + 5)
    link.lock((), (), time.monotonic() + 5)
    failures = []

    def write():
        try:
            far.transact(increment)
        except (Unavailable, Unknown) as error:
            failures.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    _until(lambda: server.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
    proxy.reset()
    link.finish()
    writing.join(TIMEOUT + SLACK)
    locker.close()

    number = entries(near)
    assert len(number) == 2 - len(failures) == count(near)
    assert server.sql("SELECT version FROM dibs.project", url) > before


def test_a_change_whose_reply_is_lost_is_unknown_if_the_server_then_denies_access(tmp_path):
    with PostgresServer(tmp_path, password="right") as server, FaultProxy(server) as proxy:
        far = PostgresEngine(server.url_of("postgres", proxy.port), "shop", timeout=5.0)
        far.transact(increment)
        proxy.swallow(("replies",))
        failures = []

        def write():
            with pytest.raises(DibsError) as caught:
                far.transact(increment)
            failures.append(caught.value)

        writing = threading.Thread(target=write)
        writing.start()
        _until(lambda: server.sql("SELECT count(*) FROM dibs.ledger") == [(2,)])
        server.sql("ALTER ROLE dibs PASSWORD 'other'")
        proxy.heal()
        proxy.reset()
        writing.join(20)
        far.close()

    assert [error.code for error in failures] == ["UNKNOWN"]


def test_a_waiter_is_notified_without_polling(server, url):
    waiter, writer = PostgresEngine(url, "shop"), PostgresEngine(url, "shop")
    newest = writer.transact(increment)
    found = []
    watching = threading.Thread(target=lambda: found.append(waiter.wait(newest, 20)))
    watching.start()
    idle = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT newest%' AND state = 'idle'"
    _until(lambda: server.sql(idle))
    started = time.monotonic()

    number = writer.transact(increment)
    watching.join(20)

    assert found == [number]
    assert time.monotonic() - started < 4  # well before it looks by itself
    waiter.close()
    writer.close()


def test_writers_notify_only_while_someone_waits(url):
    waiter, writer = PostgresEngine(url, "shop"), PostgresEngine(url, "shop")
    newest = writer.transact(increment)
    with psycopg.connect(url, autocommit=True) as other:
        (number,) = other.execute("SELECT id FROM dibs.project WHERE name = 'shop'").fetchone()
        other.execute(f"LISTEN dibs_{number}")
        newest = writer.transact(increment)
        other.execute("SELECT 1")  # any command reads what has arrived
        assert list(other.notifies(timeout=0)) == []

        assert waiter.wait(newest, 0) == newest  # from now on, it is registered
        writer.transact(increment)
        assert len(list(other.notifies(timeout=5, stop_after=1))) == 1
    waiter.close()
    writer.close()


CHILD = """
import os, signal, sys, time
from dibs.engines.postgres.engine import PostgresEngine
engine = PostgresEngine({url!r}, "shop", timeout={timeout})
link = engine._session.link(time.monotonic() + 5)
link.learn(link.lock((), (), time.monotonic() + {timeout}), (), ())
runs = []
def step(txn):
    txn.put("half", "done")
    if not runs:
        print("in the step", flush=True)
        runs.append(1)
        os.kill(os.getpid(), signal.{name})
try:
    engine.transact(step)
except Exception as error:
    print(type(error).__name__, error)
else:
    print("done")
"""


def test_a_client_killed_inside_a_transaction_changes_nothing_and_blocks_no_one(url, near):
    put(near, kept="yes")
    program = CHILD.format(url=url, timeout=5.0, name="SIGKILL")

    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=30)

    assert done.returncode == -signal.SIGKILL
    assert everything(near) == [("kept", "yes")]
    near.transact(increment)


def test_a_client_stopped_inside_a_transaction_loses_it_and_wakes_up_safely(url, near):
    put(near, kept="yes")
    program = CHILD.format(url=url, timeout=2.0, name="SIGSTOP")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "in the step\n"
        started = time.monotonic()

        near.transact(increment)  # waits until the server ends the other transaction

        assert time.monotonic() - started < 5
        os.kill(child.pid, signal.SIGCONT)
        rest = child.communicate(timeout=30)[0]
    assert rest == "done\n"  # its step ran again, on what is true now
    assert everything(near) == [("count", "1"), ("half", "done"), ("kept", "yes")]


#: How many times a step runs with what it knows before it takes the lock.
ATTEMPTS = 2


def test_a_step_with_ever_new_rivals_takes_the_lock(url):
    ours, theirs = PostgresEngine(url, "shop"), PostgresEngine(url, "shop")
    ours.transact(increment)
    runs = []
    late = threading.Thread(target=lambda: theirs.transact(increment))

    def step(txn):
        runs.append(txn.get("count"))
        if len(runs) <= ATTEMPTS:
            theirs.transact(increment)
        else:
            late.start()
            late.join(0.2)
            assert late.is_alive()  # it waits for the lock
        txn.put("count", str(int(txn.get("count")) + 1))

    ours.transact(step)
    late.join(20)

    assert runs == ["1", "2", "3"]
    assert count(theirs) == 5
    ours.close()
    theirs.close()


def test_a_writer_that_finds_the_store_locked_keeps_the_lock_for_this_step_only(url):
    ours, theirs = PostgresEngine(url, "shop"), PostgresEngine(url, "shop")
    ours.transact(increment)
    link = theirs._session.link(time.monotonic() + 5)
    link.lock((), (), time.monotonic() + 5)
    threading.Timer(0.2, link.finish).start()
    locked = []

    def step(txn):
        with psycopg.connect(url) as other:
            free = other.execute(
                "SELECT pg_try_advisory_xact_lock(1684628083, id) FROM dibs.project WHERE name = 'shop'"
            )
            locked.append(free.fetchone() == (False,))
        increment(txn)

    ours.transact(step)
    ours.transact(step)

    assert locked == [True, True, False]  # theirs, ours when it runs again, and no one's
    assert count(theirs) == 3
    ours.close()
    theirs.close()


def test_a_step_that_fails_under_the_lock_releases_it(url):
    ours, theirs = PostgresEngine(url, "shop"), PostgresEngine(url, "shop")
    ours.transact(increment)
    runs = []

    def step(txn):
        runs.append(txn.get("count"))
        if len(runs) > ATTEMPTS:
            raise KeyError("stop")
        theirs.transact(increment)
        txn.put("count", "wrong")

    with pytest.raises(KeyError):
        ours.transact(step)

    assert theirs.transact(increment)
    assert count(ours) == ATTEMPTS + 2
    ours.close()
    theirs.close()


def test_a_life_that_another_process_starts_first_leaves_no_lock(url, near, monkeypatch):
    with psycopg.connect(url) as rival:
        rival.execute("INSERT INTO dibs.project (name) VALUES ('raced')")
        rival.commit()
        free = "SELECT pg_try_advisory_xact_lock(1684628083, id) FROM dibs.project WHERE name = 'raced'"

        def begin():
            monkeypatch.undo()
            assert rival.execute(free).fetchone() == (True,)
            rival.execute(
                "UPDATE dibs.project SET life = 'theirs', timeline = dibs.timeline() WHERE name = 'raced'"
            )
            threading.Timer(0.2, rival.commit).start()
            return memories.wall()

        monkeypatch.setattr(memories, "wall", begin)
        engine = PostgresEngine(url, "raced")

        assert rival.execute(free).fetchone() == (True,)
        engine.close()


def test_a_full_disk_refuses_and_keeps_the_data(url, near, monkeypatch):
    from dibs.engines.postgres.errors import ServerError

    put(near, kept="yes")
    link = near._session.link(time.monotonic() + 5)

    def full(*_, **__):
        raise ServerError("53100", "could not extend file: No space left on device")

    monkeypatch.setattr(type(link), "write", full)
    with pytest.raises(Unavailable) as caught:
        put(near, more="x")

    assert caught.value.code == "STORAGE_FULL"
    monkeypatch.undo()
    assert everything(near) == [("kept", "yes")]


def _until(condition):
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)
