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
from tests.servers.processes import ServerError, until


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
    def test_a_server_is_ready_when_start_returns_and_gone_after_close(self, tmp_path):
        with PostgresServer(tmp_path) as server:
            assert server.sql("SELECT 1", server.url) == [(1,)]
            assert server.port < 32_768
            processes = family(server)

        assert not any(alive(process) for process in processes)
        assert not os.path.exists(server.home)
        assert "ready to accept connections" in server.log

    def test_no_process_of_a_server_runs_as_root(self, shared):
        assert all(process.uids().effective != 0 for process in family(shared))

    def test_a_killed_server_keeps_its_port_and_its_data(self, server):
        port = server.port
        server.sql("CREATE TABLE kept AS SELECT 1 AS number")

        server.kill()
        assert not server.running
        server.start()

        assert (server.port, server.sql("SELECT * FROM kept")) == (port, [(1,)])
        server.restart()
        assert server.sql("SELECT * FROM kept") == [(1,)]

    def test_a_kill_ends_the_processes_that_serve_clients(self, server, connect):
        client = connect(server.url)
        processes = family(server)
        assert client.info.backend_pid in [process.pid for process in processes]

        server.kill()

        assert not any(alive(process) for process in processes)
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")

    @pytest.mark.skipif(sys.platform != "linux", reason="lists shared memory with /proc")
    def test_a_killed_server_leaves_no_shared_memory_after_close(self, tmp_path):
        with PostgresServer(tmp_path) as server:
            mine = server._memory
            server.kill()
            assert mine in segments()

        assert mine not in segments()

    def test_a_stop_does_not_wait_for_clients_or_kill_the_server(self, server, connect):
        client = connect(server.url)

        server.stop()

        assert not server.running
        assert server.log.rstrip().endswith("database system is shut down")
        with pytest.raises(psycopg.errors.AdminShutdown):
            client.execute("SELECT 1")

    def test_a_paused_server_responds_to_no_one_until_it_resumes(self, server, connect):
        client = connect(server.url)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(client.execute("SELECT 1")))

        server.pause()
        asking.start()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url, connect_timeout=2)
        assert not answers
        states = {process.status() for process in family(server) if alive(process)}
        assert states == {psutil.STATUS_STOPPED}
        server.resume()

        asking.join(20)
        assert answers[0].fetchall() == [(1,)]
        assert server.sql("SELECT 1") == [(1,)]

    def test_a_paused_server_can_be_stopped(self, server):
        server.pause()

        server.stop()

        assert not server.running

    def test_settings_apply_at_the_start_and_later_ones_replace_them(self, tmp_path):
        with PostgresServer(tmp_path, settings={"work_mem": "8MB"}) as server:
            assert server.sql("SHOW work_mem") == [("8MB",)]

            server.configure(work_mem="9MB", deadlock_timeout="2s")

            assert server.sql("SHOW work_mem") == [("9MB",)]
            server.restart()
            assert server.sql("SHOW deadlock_timeout") == [("2s",)]

    def test_a_server_that_cannot_start_says_why(self, tmp_path):
        server = PostgresServer(tmp_path, settings={"no_such_setting": "1"})
        with pytest.raises(ServerError, match="no_such_setting"):
            server.start()
        server.close()

    def test_a_client_must_know_the_password(self, tmp_path):
        with PostgresServer(tmp_path, password="s3cret") as server:
            assert server.sql("SELECT 1", server.url) == [(1,)]

            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(server.url.replace("s3cret", "wrong"))

    def test_tls_works_for_clients_that_trust_the_certificate(self, tmp_path):
        with PostgresServer(tmp_path, tls=True) as server:
            used = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            assert server.sql(used, server.url) == [(True,)]

            plain = server.url.split("?")[0]
            with pytest.raises(psycopg.OperationalError, match="no encryption"):
                psycopg.connect(f"{plain}?sslmode=disable")

    def test_each_database_is_new(self, shared):
        first, second = shared.database(), shared.database()
        shared.sql("CREATE TABLE left_behind (number int)", first)

        tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'left_behind'"
        assert shared.sql(tables, second) == [(0,)]

    def test_a_database_in_use_can_be_dropped(self, shared, connect):
        url = shared.database()
        client = connect(url)

        shared.drop(url)

        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(url)

    def test_each_test_has_an_empty_database(self, postgres_url, postgres_server):
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert postgres_server.sql(tables, postgres_url) == [(0,)]
        assert postgres_url != postgres_server.url

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

    def test_no_commit_waits_for_an_asynchronous_standby(self, server, tmp_path):
        server.sql("CREATE TABLE made (number int)")
        with server.standby(tmp_path / "standby", synchronous=False) as standby:
            standby.pause()

            server.sql("INSERT INTO made VALUES (1)")

            state = "SELECT state, sync_state FROM pg_stat_replication"
            assert server.sql(state) == [("streaming", "async")]

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

    def test_a_promoted_standby_accepts_writes_on_a_new_timeline(self, server, tmp_path):
        with server.standby(tmp_path / "standby", synchronous=False) as standby:
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                standby.sql("CREATE TABLE made (number int)")

            standby.promote()

            standby.sql("CREATE TABLE made (number int)")
            timeline = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
            assert (server.sql(timeline), standby.sql(timeline)) == (
                [("00000001",)],
                [("00000002",)],
            )

    def test_a_second_standby_does_not_wait_for_the_first_once_promoted(self, server, tmp_path):
        with (
            server.standby(tmp_path / "first", synchronous=True),
            server.standby(tmp_path / "second", synchronous=True) as second,
        ):
            states = "SELECT sync_state FROM pg_stat_replication"
            assert server.sql(states) == [("sync",), ("sync",)]

            server.kill()
            second.promote()

            second.sql("CREATE TABLE made (number int)")

    def test_a_standby_uses_the_primarys_password_and_tls(self, tmp_path):
        with (
            PostgresServer(tmp_path / "a", password="s3cret", tls=True) as server,
            server.standby(tmp_path / "b", synchronous=True) as standby,
        ):
            used = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_replication USING (pid)"
            assert server.sql(used) == [(True,)]

            mine = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            assert standby.sql(mine, standby.url) == [(True,)]
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(standby.url.replace("s3cret", "wrong"))


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

    def test_it_serves_each_database_of_the_server(self, shared, tmp_path):
        url = shared.database()
        shared.sql("CREATE TABLE here AS SELECT 1 AS number", url)

        with PgBouncer(tmp_path, shared) as pool:
            assert shared.sql("SELECT * FROM here", pool.url_of(url)) == [(1,)]

    def test_it_survives_a_restart_of_the_server(self, server, tmp_path):
        with PgBouncer(tmp_path / "pool", server) as pool:
            server.sql("SELECT 1", pool.url)
            server.restart()

            assert server.sql("SELECT 1", pool.url) == [(1,)]

    def test_no_process_of_a_pool_runs_as_root(self, shared, tmp_path):
        with PgBouncer(tmp_path, shared) as pool:
            assert all(process.uids().effective != 0 for process in family(pool))
        assert not pool.running
