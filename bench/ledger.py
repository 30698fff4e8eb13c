"""Measure a ledger of a million entries: searching it, `dibs doctor`, and trimming it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import apsw

from bench.measure import Row, Section, at_most, median
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.project.project import create
from dibs.services.state.ledger import Ledger

ENTRIES = 1_000_000
#: Entries like those of a crew of twenty, written by SQLite itself.
_FILL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO ledger SELECT ? + i, ? + i * 0.0001, 'worker-' || (i % 20), 'agent',
  CASE i % 4 WHEN 0 THEN 'lock_acquired' WHEN 1 THEN 'lock_released' ELSE 'file_edit' END,
  'worker-' || (i % 20) || ' claimed src/package_' || (i % 97) || '/module_' || i || '.py',
  '{"patterns":["src/package_' || (i % 97) || '/module_' || i || '.py"],"ttl":300.0}' FROM n
"""


def million() -> Section:
    """Time commands that search a large ledger, and each batch while it is trimmed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        database = fill_ledger(folder, ENTRIES)
        shown = {
            words: median([_command(folder, words) for _ in range(3)])
            for words in ("status", "log --agent rare", "log --kind agent_joined", "doctor")
        }
        before = os.path.getsize(database)
        took, longest = _trim(folder)
        after = _size(database)
    rows = [
        Row("`dibs status`", f"{shown['status'] * 1e3:.0f} ms"),
        _within("`dibs log --agent`", shown["log --agent rare"], 1.0),
        _within("`dibs log --kind`", shown["log --kind agent_joined"], 1.0),
        _within("`dibs doctor`", shown["doctor"], 1.0),
        Row("trim to 10,000 entries, in batches", f"{took:.1f} s"),
        _within("its slowest batch", longest, 0.1),
        at_most("file after / before", after / before, 0.1),
    ]
    note = f"{ENTRIES:,} entries; the agent that is searched for wrote the first two. SQLite."
    return Section("Ledger: a million entries", note, rows)


def _within(what: str, took: float, limit: float) -> Row:
    return Row(what, f"{took * 1e3:.0f} ms", f"≤ {limit * 1e3:.0f} ms", took <= limit)


def fill_ledger(folder: str, entries: int) -> str:
    """Create a project with a long ledger in a repository; return its database."""
    with open(os.path.join(folder, "dibs.toml"), "w", encoding="ascii") as file:
        file.write(f"[ledger]\nlimit = {entries * 2}\n")
    project, _ = create(folder)
    project.claims.claim(Caller("rare"), [parse("a.py")])
    project.close()
    database = os.path.join(folder, ".git", "dibs", "dibs.db")
    db = apsw.Connection(database)
    ((last, at),) = db.execute("SELECT max(seq), max(at) FROM ledger")
    db.execute(_FILL, (entries, last, at))
    db.execute("PRAGMA wal_checkpoint(truncate)")
    db.close()
    return database


def _trim(folder: str) -> tuple[float, float]:
    """Trim the ledger one batch at a time; return the time, and that of the slowest batch."""
    project, _ = create(folder)
    store = project.store
    store.config = store.config._replace(ledger_limit=10_000)
    store.archive = ""
    durations, more = [], 1
    while more:
        start = time.perf_counter()
        more = Ledger(store).trim(patience=0.0)
        durations.append(time.perf_counter() - start)
    project.close()
    return sum(durations), max(durations)


def _size(database: str) -> int:
    db = apsw.Connection(database)
    db.execute("PRAGMA wal_checkpoint(truncate)")
    db.close()
    return os.path.getsize(database)


def _command(folder: str, words: str) -> float:
    dibs = os.path.join(os.path.dirname(sys.executable), "dibs")
    start = time.perf_counter()
    subprocess.run([dibs, *words.split()], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start
