"""Memory and SQLite behave the same for all services."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from proof_world import Step, World, histories
from tests.soak import HISTORIES

from dibs.engines.memory import MemoryEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.testing import ManualClock

START = 1_000_000.0
_MEMORY_DISK = "/dev/shm"


def _folder() -> Path:
    """Return a private folder, in memory if possible: nothing here needs a disk."""
    here = _MEMORY_DISK if os.access(_MEMORY_DISK, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="dibs-model-", dir=here))


@settings(HISTORIES, max_examples=HISTORIES.max_examples // 3)
@given(histories)
def test_memory_and_sqlite_give_the_same_results_rows_and_ledger(history: list[Step]):
    folder = _folder()
    clocks = ManualClock(START), ManualClock(START)
    memory = World(MemoryEngine(clocks[0]), clocks[0])
    sqlite = World(SqliteEngine(folder / "dibs.db", clock=clocks[1]), clocks[1])
    try:
        for step in history:
            aimed = memory.aim(step)

            assert memory.do(aimed) == sqlite.do(aimed)
            assert memory.claims.all() == sqlite.claims.all()
        assert list(memory.rows().items()) == list(sqlite.rows().items())
        assert memory.ledger() == sqlite.ledger()
    finally:
        sqlite.engine.close()
        shutil.rmtree(folder)


@settings(HISTORIES, max_examples=HISTORIES.max_examples // 10)
@given(histories)
def test_a_store_that_is_reopened_for_every_step_forgets_nothing(history: list[Step]):
    folder = _folder()
    clock = ManualClock(START)
    whole = World(MemoryEngine(clock), clock)
    requests = 0
    try:
        for step in history:
            aimed = whole.aim(step)
            now = clock.now
            expected = whole.do(aimed)
            clock.now = now
            engine = SqliteEngine(folder / "dibs.db", clock=clock)
            anew = World(engine, clock)
            anew.requests = requests

            assert anew.do(aimed) == expected
            assert anew.claims.all() == whole.claims.all()
            requests = anew.requests
            engine.close()
    finally:
        shutil.rmtree(folder)
