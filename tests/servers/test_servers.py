"""The servers and faults that other tests rely on work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing

import psutil
import pytest
import redis
from tests.servers import (
    Cluster,
    FaultProxy,
    RedisServer,
    Sentinel,
)
from tests.servers.processes import ServerError, clean_environment, until


class TestRedis:
    def test_a_server_is_ready_when_start_returns_and_gone_after_close(self, tmp_path):
        with RedisServer(tmp_path) as server:
            assert server.call("PING") is True
            assert server.port < 32_768
            pid = server.pid

        assert not server.running
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_restart_keeps_the_port_and_the_persisted_data(self, tmp_path):
        with RedisServer(tmp_path, aof="always") as server:
            port = server.port
            server.call("SET", "k", "v")

            server.kill()
            assert not server.running
            server.start()

            assert (server.port, server.call("GET", "k")) == (port, "v")
            server.restart()
            assert server.call("GET", "k") == "v"

    def test_without_persistence_a_kill_loses_everything(self, tmp_path):
        with RedisServer(tmp_path) as server:
            server.call("SET", "k", "v")

            server.kill()
            server.start()

            assert server.call("GET", "k") is None

    def test_a_paused_server_responds_when_it_resumes(self, tmp_path):
        with RedisServer(tmp_path) as server, closing(server.client()) as client:
            client.ping()

            server.pause()
            with pytest.raises(redis.TimeoutError), server.client(timeout=0.2) as other:
                other.ping()
            server.resume()

            assert client.ping()

    def test_a_paused_server_can_be_stopped(self, tmp_path):
        with RedisServer(tmp_path) as server:
            server.pause()

            server.stop()

            assert not server.running

    def test_a_user_with_a_password_must_give_both(self, tmp_path):
        with RedisServer(tmp_path, user="dibs", password="s3cret") as server:
            assert server.call("ACL", "WHOAMI") == "dibs"

            stranger = server.client(f"redis://127.0.0.1:{server.port}")
            with pytest.raises(redis.AuthenticationError), stranger:
                stranger.ping()

    def test_a_password_alone_is_the_default_users(self, tmp_path):
        with RedisServer(tmp_path, password="s3cret") as server:
            assert "://:s3cret@" in server.url
            stranger = server.client(f"redis://127.0.0.1:{server.port}")
            with pytest.raises(redis.AuthenticationError), stranger:
                stranger.ping()

    def test_the_unix_socket_reaches_the_same_server(self, tmp_path):
        with RedisServer(tmp_path, unix=True) as server:
            server.call("SET", "k", "v")

            with server.client(server.unix_url) as client:
                assert client.get("k") == "v"
        assert not os.path.exists(os.path.dirname(server.socket))

    def test_tls_works_for_clients_that_trust_the_certificate(self, tmp_path):
        with RedisServer(tmp_path, tls=True) as server:
            assert server.url.startswith("rediss://")
            assert server.call("PING") is True

            stranger = server.client(server.url.split("?")[0])
            with pytest.raises(redis.ConnectionError), stranger:
                stranger.ping()

    def test_options_are_written_to_the_configuration_file(self, tmp_path):
        with RedisServer(tmp_path, "maxmemory 50mb", "maxmemory-policy allkeys-lru") as server:
            assert server.call("CONFIG", "GET", "maxmemory-policy") == {
                "maxmemory-policy": "allkeys-lru"
            }

    def test_a_server_that_cannot_start_says_why(self, tmp_path):
        with pytest.raises(ServerError, match="no-such-option"):
            RedisServer(tmp_path, "no-such-option yes").start()

    def test_a_replica_behind_a_cut_connection_lags_and_can_be_promoted(self, tmp_path):
        with (
            RedisServer(tmp_path / "a") as primary,
            RedisServer(tmp_path / "b") as replica,
            FaultProxy(primary) as wire,
        ):
            primary.call("SET", "k", "old")
            replica.replica_of(wire)
            assert replica.call("GET", "k") == "old"

            wire.swallow()
            primary.call("SET", "k", "new")
            replica.promote()

            assert replica.call("GET", "k") == "old"
            assert replica.info("replication")["role"] == "master"

    @pytest.mark.slow
    def test_a_sentinel_promotes_the_replica(self, tmp_path):
        with (
            RedisServer(tmp_path / "a") as primary,
            RedisServer(tmp_path / "b") as replica,
        ):
            replica.replica_of(primary)
            with Sentinel(tmp_path / "s", primary) as sentinel:
                assert sentinel.primary_port() == primary.port

                primary.kill()

                assert sentinel.await_failover() == replica.port
                assert replica.call("SET", "k", "v")

    @pytest.mark.slow
    @pytest.mark.parametrize("nodes", [1, 3])
    def test_a_cluster_distributes_all_slots(self, tmp_path, nodes):
        with Cluster(tmp_path, nodes) as cluster:
            client = redis.RedisCluster("127.0.0.1", cluster.ports[0])

            for number in range(50):
                client.set(f"k{number}", number)

            assert [client.get(f"k{number}") for number in range(50)] == [
                str(number).encode() for number in range(50)
            ]
            assert all(node.call("DBSIZE") for node in cluster.nodes)
            client.close()

    def test_each_test_has_an_empty_database(self, redis_url, redis_server):
        with closing(redis.Redis.from_url(redis_url)) as client:
            assert client.dbsize() == 0
            client.set("left", "behind")
        assert redis_url != redis_server.url

    def test_no_server_outlives_a_killed_test_process(self, tmp_path):
        program = (
            "import os, signal, sys; from tests.servers import RedisServer;"
            "server = RedisServer(sys.argv[1]).start(); print(server.pid, flush=True);"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )

        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

        assert done.returncode == -9
        until(lambda: not alive(int(done.stdout)), "the server is gone")


class TestGit:
    @pytest.fixture
    def clone(self, tmp_path):
        clone = tmp_path / "clone"
        git("init", "--quiet", "--initial-branch=main", clone)
        (clone / "file").write_text("x" * 3_000_000 + "\n".join(map(str, range(300_000))))
        git("-C", clone, "add", "file")
        git("-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
        return clone

    @pytest.mark.parametrize("way", ["path", "file_url", "git_url", "http_url"])
    def test_each_url_accepts_a_push_and_returns_it(self, git_remote, clone, tmp_path, way):
        address = getattr(git_remote, way)
        address = address() if callable(address) else address

        # No buffer: over HTTP the pack is sent in chunks, like a large one.
        git("-C", clone, "-c", "http.postBuffer=1", "push", "-q", address, "main:dibs")
        git("clone", "-q", "--branch=dibs", address, tmp_path / "other")

        head = git("-C", clone, "rev-parse", "main")
        assert git_remote.refs() == {"refs/heads/dibs": head}
        assert git("-C", tmp_path / "other", "rev-parse", "HEAD") == head

    def test_http_can_require_a_password(self, tmp_path, clone):
        from tests.servers import GitRemote

        with GitRemote(tmp_path / "remote", user="me", password="s3cret") as remote:
            address = remote.http_url().replace("http://", "http://me:s3cret@")

            git("-C", clone, "push", "-q", address, "main")

            assert set(remote.refs()) == {"refs/heads/main"}
            with pytest.raises(subprocess.CalledProcessError):
                git("-C", clone, "push", "-q", remote.http_url(), "main:other")

    @pytest.mark.parametrize("way", ["git_url", "http_url"])
    def test_a_push_can_take_effect_and_its_reply_be_lost(self, git_remote, clone, way):
        getattr(git_remote, way)()
        server = git_remote.daemon if way == "git_url" else git_remote.http
        with FaultProxy(server) as wire:
            wire.drop_reply(after=b"PACK", quiet=5)

            with pytest.raises(subprocess.CalledProcessError):
                git("-C", clone, "push", "-q", getattr(git_remote, way)(wire.port), "main")

            assert wire.cuts == 1
            assert git_remote.refs() == {"refs/heads/main": git("-C", clone, "rev-parse", "main")}

    def test_a_stopped_daemon_ends_with_its_children(self, git_remote):
        git_remote.git_url()
        port = git_remote.daemon.port

        git_remote.daemon.stop()

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def alive(pid):
    try:  # no one may be there to reap it
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def git(*words):
    done = subprocess.run(
        ["git", *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        env={**clean_environment(), "GIT_TERMINAL_PROMPT": "0"},
    )
    return done.stdout.strip()
