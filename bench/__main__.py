"""Run all benchmarks, print the tables, and write them to docs/bench.md."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from bench import (
    board,
    briefing,
    commits,
    forecast,
    gates,
    git_store,
    hook,
    mcp,
    patterns,
    peers,
    process,
    redis_store,
    store,
    wake,
)

if TYPE_CHECKING:
    from bench.measure import Section

SECTIONS = (
    patterns.pairs,
    patterns.lookup,
    store.claim,
    store.held,
    store.contention,
    process.commands,
    peers.locks,
    redis_store.locks,
    redis_store.held,
    git_store.claim,
    git_store.crowd,
    wake.waking,
    board.cycles,
    board.tasks,
    board.past,
    commits.commits,
    gates.commits,
    hook.hooks,
    forecast.forecasts,
    briefing.commands,
    briefing.day,
    mcp.claims,
)
MARK = {True: "yes", False: "**no**", None: ""}


def table(section: Section) -> str:
    """Return one section as Markdown."""
    lines = [f"## {section.title}", "", section.note, "", "| what | figure | goal | met |"]
    lines.append("|---|---|---|---|")
    lines += [f"| {r.what} | {r.figure} | {r.goal} | {MARK[r.met]} |" for r in section.rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure everything; the exit status is 0 even where a goal is missed: the table says so."""
    intro = (
        "# Figures\n\n"
        "Written by `make bench`. Each goal is a ratio or a bound within one run; absolute times move"
        " with the machine and its load.\n\n"
        f"This run: {os.cpu_count()} cores, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}.\n"
    )
    parts = [intro]
    for measure in SECTIONS:
        print(f"measuring: {measure.__module__}.{measure.__name__}", file=sys.stderr, flush=True)
        parts.append(table(measure()))
        print(parts[-1], flush=True)
    page = Path(__file__).parent.parent / "docs" / "bench.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    print(f"written to {page.relative_to(Path.cwd()) if page.is_relative_to(Path.cwd()) else page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
