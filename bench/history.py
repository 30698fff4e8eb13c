"""Measure the history of a long ledger: the first request for a timeline, and the next ones."""

from __future__ import annotations

import subprocess
import tempfile
import time

from bench.ledger import fill_ledger
from bench.measure import Row, Section, median
from dibs.project.project import Project, create

ENTRIES = 100_000


def timelines() -> Section:
    """Time the whole history, and again after one more entry, as the dashboard does."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        fill_ledger(folder, ENTRIES)
        firsts, nexts = [], []
        for _ in range(3):
            project, _ = create(folder)
            firsts.append(_timed(project))
            nexts += [_timed(project) for _ in range(3)]
            project.close()
    rows = [
        _within("the first timeline, processor time", median(firsts), 1.0),
        _within("the next timeline, processor time", median(nexts), 0.5),
    ]
    return Section("History: timelines", f"{ENTRIES:,} entries, all in the window. SQLite.", rows)


def _timed(project: Project) -> float:
    start = time.process_time()
    project.history.timeline("all")
    return time.process_time() - start


def _within(what: str, took: float, limit: float) -> Row:
    return Row(what, f"{took * 1e3:.0f} ms", f"≤ {limit * 1e3:.0f} ms", took <= limit)
