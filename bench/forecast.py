"""Compare a forecast over many working trees with one ``git merge-tree``."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bench.measure import Row, Section, at_most, median
from dibs.config.load import Config
from dibs.engines.memory import MemoryEngine
from dibs.local.repository import find
from dibs.services.forecast.service import Forecasts
from dibs.services.state.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

FILES, TREES, ROUNDS = 5_000, 20, 9


def forecasts() -> Section:
    """Compare a full forecast, and one after a change, with merging two branches once."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(os.path.realpath(folder), "repo")
        trees = _repository(root)
        status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
        service = Forecasts(Store(MemoryEngine(), Config()), find(root))
        one, looks, first, kept = ([] for _ in range(4))
        for _ in range(ROUNDS):
            one.append(
                _timed(lambda: _git(root, "merge-tree", "--write-tree", "agent/a0", "agent/a1"))
            )
            looks.append(_timed(lambda: [_git(tree, *status) for tree in trees]))
            with suppress(FileNotFoundError):
                os.remove(os.path.join(root, ".git", "dibs", "forecast.json"))
            first.append(_timed(service.once))
            kept.append(_timed(service.once))
    base = median(one)
    rows = [
        Row("one `git merge-tree` of two branches, p50", f"{base * 1e3:.1f} ms"),
        at_most("full forecast, nothing cached / merge-tree", median(first) / base, 20),
        at_most("same, merges cached", median(kept) / base, 20),
        Row("`git status` in every tree / merge-tree", _times(looks, base)),
    ]
    note = (
        f"{TREES} working trees of {FILES:,} files with committed and uncommitted changes; neighbors share"
        " one changed file. Most of the time is `git status` in every tree, so if that row is above 20x, the"
        " goals cannot be met."
    )
    return Section("Forecast", note, rows)


def _repository(root: str) -> list[str]:
    os.makedirs(root)
    _git(root, "init", "-q", "-b", "main")
    for number in range(FILES):
        path = os.path.join(root, _path(number))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(f"line {line} of {number}\n" for line in range(60)))
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "first")
    trees = []
    for number in range(TREES):
        tree = f"{root}.{number}"
        _git(root, "worktree", "add", "-q", "-b", f"agent/a{number}", tree)
        for own in range(5):
            _edit(tree, 100 + number * 200 + own * 7, 20)
        _git(tree, "commit", "-qam", "work")
        _edit(tree, 150 + number * 200, 20)
        _edit(tree, 150 + (number + 1) % TREES * 200, 40)
        trees.append(tree)
    return trees


def _path(number: int) -> str:
    return f"src/pkg{number // 50}/sub{number % 5}/module_{number}.py"


def _edit(tree: str, number: int, line: int) -> None:
    path = os.path.join(tree, _path(number))
    with open(path, encoding="ascii") as file:
        text = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(text.replace(f"line {line} ", f"line {line}, {tree[-3:]} "))


def _git(folder: str, *words: str) -> None:
    who = {f"GIT_{w}_{n}": "bench" for w in ("AUTHOR", "COMMITTER") for n in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", *words], cwd=folder, check=words[0] != "merge-tree", capture_output=True,
        env={**os.environ, **who},
    )  # fmt: skip


def _times(samples: list[float], base: float) -> str:
    return f"{median(samples) / base:.1f}x"


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
