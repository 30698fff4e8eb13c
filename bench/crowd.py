"""Measure board commands of many processes at once, compared with claims under the same load."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from bench.measure import Row, Section, median
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.project.project import create
from dibs.services.tasks.values import Draft

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from dibs.project.project import Project

PROCESSES, TURNS = 50, 2
#: What a command may take at most: the default timeout of the store, in seconds.
TIMEOUT = 5.0


def crowd() -> Section:
    """Start board commands in 50 processes at the same moment; show the middle and the slowest one."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        project, _ = create(folder)
        drafts = [Draft(fields={"title": f"Fix page {n}"}) for n in range(PROCESSES * TURNS)]
        project.tasks.create(Caller("bench", role="coordinator"), drafts)
        project.close()
        floor = 0.0
        for name, label in (
            ("claim", "claim"),
            ("take", "task take"),
            ("new", "task new"),
            ("ls", "task ls"),
        ):
            times = _together(folder, name)
            half, most = median(times), max(times)
            floor = floor or half
            shown = f"{half * 1e3:.0f} ms ({half / floor:.1f}x a claim), slowest {most:.1f} s"
            rows.append(Row(label, shown, f"slowest ≤ {TIMEOUT:.0f} s", most <= TIMEOUT))
    note = f"{PROCESSES} processes, {TURNS} commands each, all started at the same moment. SQLite."
    return Section("Board: many processes at once", note, rows)


def _together(folder: str, name: str) -> list[float]:
    context = multiprocessing.get_context("fork")
    ready, results = context.Barrier(PROCESSES), context.Queue()
    crew = [
        context.Process(target=_work, args=(folder, name, number, ready, results))
        for number in range(PROCESSES)
    ]
    for process in crew:
        process.start()
    times = [took for _ in crew for took in results.get()]
    for process in crew:
        process.join()
    return times


def _work(folder: str, name: str, number: int, ready: Barrier, results: Queue[list[float]]) -> None:
    project, _ = create(os.path.realpath(folder))
    project.store.now()
    ready.wait()
    times = []
    for turn in range(TURNS):
        start = time.perf_counter()
        _act(project, name, f"{number}-{turn}")
        times.append(time.perf_counter() - start)
    results.put(times)
    project.close()


def _act(project: Project, name: str, who: str) -> None:
    if name == "claim":
        project.claims.claim(Caller(f"owner-{who}"), [parse(f"src/file-{who}.py")])
    elif name == "take":
        project.tasks.take(Caller(f"worker-{who}"))
    elif name == "new":
        project.tasks.create(Caller(f"author-{who}"), [Draft(fields={"title": f"Paint {who}"})])
    else:
        project.tasks.all(None)
