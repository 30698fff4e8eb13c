"""The Redis engine satisfies the contract, over TCP and over a socket."""

from __future__ import annotations

import itertools

import pytest
from tests.servers import RedisServer

from dibs.engines.redis.engine import RedisEngine
from dibs.testing import NewLifeContract, SharedEngineContract
from dibs.testing.ledger import Waiting
from dibs.testing.rivals import Rivals

projects = itertools.count()


class Connecting:
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


class TestOneServer(Connecting, SharedEngineContract, NewLifeContract):
    @pytest.fixture
    def url(self, redis_url):
        return redis_url

    @pytest.fixture
    def forget(self, redis_server, redis_url):
        with redis_server.client(redis_url) as client:
            yield client.flushdb


class TestUnixSocket(Connecting, Rivals, Waiting):
    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, tmp_path_factory):
        with RedisServer(tmp_path_factory.mktemp("unix"), unix=True, password="s3cret") as server:
            yield server.unix_url
