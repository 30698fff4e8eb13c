"""The memory and SQLite engines satisfy the contract."""

from __future__ import annotations

import apsw
import pytest

from dibs.engines.memory import MemoryEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.testing import EngineContract, ManualClock, NewLifeContract, SharedEngineContract


class TestMemory(EngineContract):
    @pytest.fixture
    def connect(self):
        return MemoryEngine().connect


class TestSqlite(SharedEngineContract, NewLifeContract):
    @pytest.fixture
    def connect(self, tmp_path):
        path = tmp_path / "state" / "dibs.db"
        importing = "from dibs.engines.sqlite.engine import SqliteEngine"
        self.elsewhere = f"{importing}\nengine = SqliteEngine({str(path)!r})"
        opened = []

        def connect(**options):
            opened.append(SqliteEngine(path, **options))
            return opened[-1]

        yield connect
        for engine in opened:
            engine.close()

    @pytest.fixture
    def forget(self, tmp_path):
        def forget():
            db = apsw.Connection(str(tmp_path / "state" / "dibs.db"))
            db.execute("BEGIN IMMEDIATE; DELETE FROM kv; DELETE FROM ledger; COMMIT")
            db.close()

        return forget


@pytest.mark.parametrize("make", [MemoryEngine, None], ids=["memory", "sqlite"])
def test_engines_use_the_clock_that_they_are_given(make, tmp_path):
    clock = ManualClock(10.0)
    engine = make(clock) if make else SqliteEngine(tmp_path / "state" / "dibs.db", clock=clock)
    before = engine.transact(lambda txn: txn.now)

    clock.advance(5.0)

    assert (before, engine.transact(lambda txn: txn.now)) == (10.0, 15.0)
    assert engine.view(lambda txn: txn.now) == 15.0
    engine.close()
