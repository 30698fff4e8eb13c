"""Compare a scoped commit with a plain git commit of the same files, in a small and a large tree.

The repository is set up like a user's: ``dibs init`` has installed its git hooks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.measure import Row, Section, at_most, median
from dibs.core.claims.agents import Caller
from dibs.project.project import create
from dibs.services.commits.values import CommitRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.project.project import Project

ME = Caller("bench")
AGENT = {**os.environ, "DIBS_AGENT": ME.id}
FILES, LARGE, ROUNDS = 10, 50_000, 15
DIBS = (sys.executable, "-c", "from dibs.cli import program; program()")
PATHS = [f"src/part/file-{number}.py" for number in range(FILES)]


def commits() -> Section:
    """Compare ``dibs commit`` of ten files with ``git commit --only`` of the same."""
    rows: list[Row] = []
    for size, rounds in ((0, ROUNDS), (LARGE, 7)):
        where = f"{size:,} files" if size else "small tree"
        with _tree(size) as folder:
            project, _ = create(folder)
            project.claims.claim(ME, [project.pattern("src/")])
            times = _measured(folder, project, rounds)
            project.close()
        base, hooked = median(times["git"]), median(times["hooked"])
        rows += [
            Row(f"git commit --only, no hooks, {where}", f"{base * 1e3:.1f} ms"),
            Row(f"git commit --only, with Dibs hooks, {where}", f"{hooked * 1e3:.1f} ms"),
            Row(
                f"dibs commit, with Dibs hooks, {where}", f"{median(times['command']) * 1e3:.1f} ms"
            ),
            Row(
                f"dibs commit / git commit, with Dibs hooks, {where}",
                f"{median(times['command']) / hooked:.2f}",
            ),
            at_most(
                f"service, in process / git without hooks, {where}",
                median(times["service"]) / base,
                2.5,
            ),
            at_most(
                f"dibs commit / git without hooks, {where}", median(times["command"]) / base, 2.5
            ),
        ]
    note = (
        f"{FILES} changed files in one commit, in a repository where `dibs init` has installed its git"
        " hooks. In a small tree, starting Python alone takes longer than a git commit."
    )
    return Section("Scoped commits", note, rows)


def _measured(folder: str, project: Project, rounds: int) -> dict[str, list[float]]:
    words = ("commit", "-q", "-m", "git", "--only", "--", *PATHS)
    actions: dict[str, Callable[[], object]] = {
        "git": lambda: _git(folder, "-c", "core.hooksPath=/dev/null", *words),
        "hooked": lambda: _git(folder, *words),
        "service": lambda: project.commits.commit(ME, CommitRequest("service")),
        "command": lambda: subprocess.run(
            [*DIBS, "commit", "-m", "command"],
            cwd=folder, check=True, capture_output=True, env=AGENT,
        ),
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds):
        for name, action in actions.items():
            _edit(folder, f"{name} {number}\n")
            start = time.perf_counter()
            action()
            times[name].append(time.perf_counter() - start)
    return times


def _edit(folder: str, text: str) -> None:
    for path in PATHS:
        with open(os.path.join(folder, path), "a", encoding="utf-8") as file:
            file.write(text)


@contextmanager
def _tree(size: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        _git(folder, "init", "-q", "-b", "main")
        for name, value in (
            ("user.name", "Bench"),
            ("user.email", "bench@example.org"),
            ("gc.auto", "0"),
        ):
            _git(folder, "config", name, value)
        os.makedirs(os.path.join(folder, "src/part"))
        _edit(folder, "first\n")
        for number in range(size):
            place = os.path.join(folder, f"data/{number // 1000}/{number // 100}")
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, f"{number}.txt"), "w", encoding="utf-8") as file:
                file.write(f"{number}\n")
        _git(folder, "add", ".")
        _git(folder, "commit", "-q", "-m", "first")
        subprocess.run(
            [*DIBS, "init", "--agents", "claude"], cwd=folder, check=True, capture_output=True
        )
        _git(folder, "add", ".")
        _git(folder, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "dibs")
        time.sleep(1.1)  # otherwise git reads every file that is less than a second old
        _git(folder, "status")
        yield folder


def _git(folder: str, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, env=AGENT)
