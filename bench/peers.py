"""Compare acquire and release with well-known lock libraries."""

from __future__ import annotations

import os
import tempfile

import fasteners
import filelock

from bench.measure import Row, Section, blocks, median
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

LACKS = {
    "filelock": "no owner, queue, globs, shared mode, or fencing",
    "fasteners": "flock only; no owner, ttl, globs, crash record, or fencing",
}


def locks() -> Section:
    """Time one acquire and release of one path, uncontended, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(SqliteEngine(os.path.join(folder, "state", "dibs.db")), Config())
        claims, holdings = Claims(store), Holdings(store)
        me, path = Caller("agent-01"), [parse("src/a.py")]
        file_lock = filelock.FileLock(os.path.join(folder, "a.lock"))
        process_lock = fasteners.InterProcessLock(os.path.join(folder, "b.lock"))

        def ours(_: int) -> None:
            claims.claim(me, path)
            holdings.release(me, path)

        def with_filelock(_: int) -> None:
            with file_lock:
                pass

        def with_fasteners(_: int) -> None:
            with process_lock:
                pass

        samples = blocks(
            {"dibs": ours, "filelock": with_filelock, "fasteners": with_fasteners},
            rounds=10,
            each=200,
        )
        store.engine.close()
    base = median(samples["dibs"])
    rows = [Row("dibs (SQLite), acquire + release, p50", f"{base * 1e6:.0f} µs")]
    for name, lacks in LACKS.items():
        speed = median(samples[name])
        rows.append(Row(f"{name}: {lacks}", f"{speed * 1e6:.0f} µs ({speed / base:.2f} of dibs)"))
    return Section("Compared with file locks", "One process, one path, no contention.", rows)
