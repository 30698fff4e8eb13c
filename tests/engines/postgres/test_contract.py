"""The PostgreSQL engine satisfies the contract: directly, through a pooler, and while it holds the lock."""

from __future__ import annotations

import itertools

import psycopg
import pytest
from tests.servers import PgBouncer

from dibs.engines.postgres.engine import PostgresEngine
from dibs.engines.shared.replica_txn import ReplicaTxn
from dibs.testing import NewLifeContract, SharedEngineContract
from dibs.testing.ledger import Waiting
from dibs.testing.races import Races
from dibs.testing.rivals import Failures, Processes, Rivals

projects = itertools.count()


class Connecting:
    @pytest.fixture
    def connect(self, url, tmp_path):
        arguments = (url, f"project-{next(projects)}")
        self.project = arguments[1]
        importing = "from dibs.engines.postgres.engine import PostgresEngine"
        self.elsewhere = f"{importing}\nengine = PostgresEngine{arguments!r}"
        opened = []

        def connect(**options):
            memory = str(tmp_path / "state" / "postgres.json")
            opened.append(PostgresEngine(*arguments, memory=memory, **options))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()


class TestOneServer(Connecting, SharedEngineContract, NewLifeContract):
    @pytest.fixture
    def url(self, postgres_url):
        return postgres_url

    @pytest.fixture
    def forget(self, postgres_url):
        def forget():
            with psycopg.connect(postgres_url) as connection:
                connection.execute("DROP SCHEMA dibs CASCADE")

        return forget


class TestLocked(Connecting, Rivals, Races, Failures):
    """Every step holds the lock, so that rivals act while it does."""

    @pytest.fixture
    def url(self, postgres_url, monkeypatch):
        repeat = PostgresEngine._repeat

        def locked(self, step, kind, until):
            if kind is ReplicaTxn:
                link = self._session.link(until)
                link.learn(link.lock((), (), until), (), ())
            return repeat(self, step, kind, until)

        monkeypatch.setattr(PostgresEngine, "_repeat", locked)
        return postgres_url


class TestPooler(Connecting, Rivals, Failures, Waiting, Processes):
    """PgBouncer gives every transaction to another connection."""

    @pytest.fixture(scope="class")
    @classmethod
    def pooler(cls, tmp_path_factory, postgres_server):
        with PgBouncer(tmp_path_factory.mktemp("pooler"), postgres_server) as pooler:
            yield pooler

    @pytest.fixture
    def url(self, postgres_url, pooler):
        return pooler.url_of(postgres_url.rpartition("/")[2])
