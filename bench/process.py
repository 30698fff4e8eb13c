"""Measure commands as processes, compared with a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bench.measure import Row, Section, at_most, median

ROUNDS = 30


def _timed(command: list[str], folder: str, environ: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def commands() -> Section:
    """Time ``dibs claim`` and other commands as a shell starts them."""
    dibs = os.path.join(os.path.dirname(sys.executable), "dibs")
    environ = {**os.environ, "DIBS_AGENT": "bench"}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(
            [dibs, "init", "--agents", "none"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "dibs claim": [dibs, "claim", "src/a.py", "--new"],
            "dibs status": [dibs, "status"],
            "dibs help": [dibs, "help"],
        }
        samples: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, command in cases.items():
                samples[name].append(_timed(command, folder, environ))
    base = median(samples["python -c pass"])
    rows = [
        Row("python -c pass, p50", f"{base * 1e3:.1f} ms"),
        at_most("dibs claim / python -c pass", median(samples["dibs claim"]) / base, 3),
        Row("dibs status / python -c pass", f"{median(samples['dibs status']) / base:.2f}x"),
        Row("dibs help / python -c pass", f"{median(samples['dibs help']) / base:.2f}x"),
    ]
    return Section("Commands", f"{ROUNDS} interleaved rounds.", rows)
