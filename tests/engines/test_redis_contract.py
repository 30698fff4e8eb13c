"""The Redis engine keeps the contract: on one server, by socket, behind sentinels and in a cluster."""

from __future__ import annotations

import itertools

import pytest
from tests.servers import Cluster, RedisServer, Sentinel

from dibs.engines.redis import RedisEngine
from dibs.testing import EngineContract

projects = itertools.count()


class RedisContract(EngineContract):
    @pytest.fixture
    def connect(self, url):
        arguments = (url, f"project-{next(projects)}")
        self.elsewhere = (
            f"from dibs.engines.redis import RedisEngine\nengine = RedisEngine{arguments!r}"
        )
        opened = []

        def connect():
            opened.append(RedisEngine(*arguments))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()


class TestOneServer(RedisContract):
    @pytest.fixture
    def url(self, redis_url):
        return redis_url


class TestUnixSocket(RedisContract):
    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, tmp_path_factory):
        with RedisServer(tmp_path_factory.mktemp("unix"), unix=True, password="s3cret") as server:
            yield server.unix_url


class TestSentinel(RedisContract):
    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("sentinel")
        with RedisServer(folder / "one") as primary, RedisServer(folder / "two") as replica:
            replica.replica_of(primary)
            with Sentinel(folder / "sentinel", primary) as sentinel:
                yield f"redis+sentinel://127.0.0.1:{sentinel.port}/{sentinel.name}"


class TestCluster(RedisContract):
    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, tmp_path_factory):
        with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
            nodes = ",".join(f"127.0.0.1:{port}" for port in cluster.ports)
            yield f"redis+cluster://{nodes}"
