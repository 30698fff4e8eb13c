"""The Redis engine satisfies the contract: on one server, by socket, behind Sentinel, and in a cluster."""

from __future__ import annotations

import itertools

import pytest
from tests.servers import Cluster, RedisServer, Sentinel

from dibs.engines.redis.engine import RedisEngine
from dibs.testing import NewLifeContract, SharedEngineContract

projects = itertools.count()


class RedisContract(SharedEngineContract):
    @pytest.fixture
    def connect(self, url, tmp_path):
        arguments = (url, f"project-{next(projects)}")
        self.project = arguments[1]
        self.elsewhere = (
            f"from dibs.engines.redis.engine import RedisEngine\nengine = RedisEngine{arguments!r}"
        )
        opened = []

        def connect(**options):
            memory = str(tmp_path / "state" / "redis.json")
            opened.append(RedisEngine(*arguments, memory=memory, **options))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()


class TestOneServer(RedisContract, NewLifeContract):
    @pytest.fixture
    def url(self, redis_url):
        return redis_url

    @pytest.fixture
    def forget(self, redis_server, redis_url):
        with redis_server.client(redis_url) as client:
            yield client.flushdb


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
