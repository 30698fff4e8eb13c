"""Measure what Dibs' git hooks add to a plain ``git commit``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bench.measure import Row, Section, at_most, median

ROUNDS = 40
CLAIMS = 50


def commits() -> Section:
    """Time ``git commit`` with and without the hooks, alternating."""
    dibs = [sys.executable, "-m", "dibs"]
    environ = {**os.environ, "DIBS_AGENT": "bench", "GIT_CONFIG_GLOBAL": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "bench", f"GIT_{role}_EMAIL": "bench@example.com"}
    with tempfile.TemporaryDirectory() as folder:

        def run(*words: str) -> None:
            quiet = subprocess.DEVNULL
            subprocess.run(words, cwd=folder, env=environ, check=True, stdout=quiet)

        run("git", "init", "-q")
        run(*dibs, "claim", *(f"held/{n}.py" for n in range(CLAIMS)), "--agent", "other")
        cases = {
            "without": ("git", "-c", "core.hooksPath=/dev/null", "commit", "-q"),
            "with": ("git", "commit", "-q"),
            "no-verify": ("git", "commit", "-q", "--no-verify"),
        }
        run(*dibs, "git", "install")
        samples: dict[str, list[float]] = {name: [] for name in cases}
        for turn in range(ROUNDS):
            for name, command in cases.items():
                with open(os.path.join(folder, "file.py"), "w", encoding="utf-8") as file:
                    file.write(f"{turn} {name}\n")
                run("git", "add", "file.py")
                start = time.perf_counter()
                run(*command, "-m", "work")
                samples[name].append(time.perf_counter() - start)
    base = median(samples["without"])
    added = {name: (median(taken) - base) * 1e3 for name, taken in samples.items()}
    rows = [
        Row("git commit without hooks, p50", f"{base * 1e3:.1f} ms"),
        at_most("added by the hooks", added["with"], 60, " ms"),
        Row("added to git commit --no-verify", f"{added['no-verify']:.2f} ms"),
    ]
    note = f"{ROUNDS} interleaved rounds; another agent holds {CLAIMS} files."
    return Section("Git hooks", note, rows)
