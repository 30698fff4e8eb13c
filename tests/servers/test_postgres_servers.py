"""The PostgreSQL servers, standbys, and pools that other tests rely on work."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import psutil
import psycopg
import pytest
from tests.servers import FaultProxy, PgBouncer, PostgresServer
from tests.servers.processes import until


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server that no test of this module breaks."""
    with PostgresServer(tmp_path_factory.mktemp("shared")) as server:
        yield server


@pytest.fixture
def server(tmp_path):
    with PostgresServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
def connect():
    """Return a function that connects to a URL; all connections are closed at the end."""
    opened = []

    def to(url):
        opened.append(psycopg.connect(url, autocommit=True, connect_timeout=5))
        return opened[-1]

    yield to
    for client in opened:
        client.close()


def family(server):
    process = psutil.Process(server.pid)
    return [process, *process.children(recursive=True)]


def alive(process):
    try:  # no one may be there to reap it
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def segments():
    with open("/proc/sysvipc/shm") as file:
        return [line.split()[1] for line in file]


class TestServer:
    def test_a_killed_server_keeps_its_port_and_its_data(self, server):
        port = server.port
        server.sql("CREATE TABLE kept AS SELECT 1 AS number")

        server.kill()
        assert not server.running
        server.start()

        assert (server.port, server.sql("SELECT * FROM kept")) == (port, [(1,)])
        server.restart()
        assert server.sql("SELECT * FROM kept") == [(1,)]

    @pytest.mark.parametrize("paused", [False, True])
    def test_no_server_outlives_a_killed_test_process(self, tmp_path, paused):
        program = (
            "import os, psutil, psycopg, signal, sys; from tests.servers import PostgresServer;"
            "server = PostgresServer(sys.argv[1]).start(); client = psycopg.connect(server.url);"
            "family = psutil.Process(server.pid).children(); sys.argv[2] and server.pause();"
            "print(server.home, server._memory, server.pid, *[one.pid for one in family], flush=True);"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )

        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path, "paused" if paused else ""],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

        assert done.returncode == -9
        home, memory, *pids = done.stdout.split()
        assert len(pids) > 5
        until(lambda: not any(_exists(int(pid)) for pid in pids), "the server is gone")
        until(lambda: not os.path.exists(home), "its folder is gone")
        if sys.platform == "linux":
            until(lambda: memory not in segments(), "its shared memory is gone")


def _exists(pid):
    try:
        return alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


class TestStandby:
    def test_a_synchronous_standby_has_each_commit_before_the_client_knows(self, server, tmp_path):
        server.sql("CREATE TABLE made (number int)")
        with server.standby(tmp_path / "standby", synchronous=True) as standby:
            server.sql("INSERT INTO made VALUES (1)")
            standby.pause()
            done = []
            late = threading.Thread(
                target=lambda: done.append(server.sql("INSERT INTO made VALUES (2)"))
            )
            late.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            until(lambda: server.sql(waiting) == [(1,)], "the commit waits for the standby")
            assert not done

            standby.resume()
            late.join(20)
            assert done
            server.kill()
            standby.promote()

            assert standby.sql("SELECT number FROM made ORDER BY 1") == [(1,), (2,)]

    def test_a_promoted_asynchronous_standby_can_lack_commits(self, server, tmp_path):
        server.sql("CREATE TABLE made (number int)")
        with (
            FaultProxy(server) as wire,
            server.standby(tmp_path / "standby", synchronous=False, through=wire) as standby,
        ):
            server.sql("INSERT INTO made VALUES (1)")
            count = "SELECT count(*) FROM made"
            until(lambda: standby.sql(count) == [(1,)], "the standby has the first commit")
            wire.swallow()
            server.sql("INSERT INTO made VALUES (2)")

            server.kill()
            standby.promote()

            assert standby.sql(count) == [(1,)]


def all_used(pool):
    """Return whether a client waits although no further connection is being opened."""
    return any(row["cl_waiting"] and not row["sv_login"] for row in pool.admin("SHOW POOLS"))


class TestPgBouncer:
    def test_clients_share_a_connection_one_transaction_at_a_time(self, shared, tmp_path, connect):
        with PgBouncer(tmp_path, shared, size=1) as pool:
            first, second = connect(pool.url), connect(pool.url)
            mine, answers = "SELECT pg_backend_pid()", []

            server = first.execute(mine).fetchone()

            with first.transaction():
                first.execute("SELECT 1")
                asking = threading.Thread(target=lambda: answers.append(second.execute(mine)))
                asking.start()
                until(lambda: all_used(pool), "the second client waits for the connection")
                assert not answers
            asking.join(20)
            assert answers[0].fetchone() == server
