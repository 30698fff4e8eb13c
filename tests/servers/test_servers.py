"""The servers and faults that other tests rely on work."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest
from tests.servers import FaultProxy, RedisServer
from tests.servers.processes import clean_environment, until


class TestRedis:
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

    @pytest.mark.parametrize("way", ["git_url", "http_url"])
    def test_each_url_accepts_a_push_and_returns_it(self, git_remote, clone, tmp_path, way):
        address = getattr(git_remote, way)
        address = address() if callable(address) else address

        # No buffer: over HTTP the pack is sent in chunks, like a large one.
        git("-C", clone, "-c", "http.postBuffer=1", "push", "-q", address, "main:dibs")
        git("clone", "-q", "--branch=dibs", address, tmp_path / "other")

        head = git("-C", clone, "rev-parse", "main")
        assert git_remote.refs() == {"refs/heads/dibs": head}
        assert git("-C", tmp_path / "other", "rev-parse", "HEAD") == head

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
