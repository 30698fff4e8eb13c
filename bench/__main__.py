"""Run the benchmarks and print their tables: ``python -m bench [MODULE...]``.

Without arguments, run all of them and write docs/bench.md. With names of modules, such as ``hook store``,
run only those and write nothing.
"""

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
    crew,
    crowd,
    dashboard,
    events,
    forecast,
    gates,
    git_store,
    history,
    hook,
    ledger,
    patterns,
    peers,
    postgres_store,
    process,
    redis_store,
    rest,
    server_load,
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
    ledger.million,
    history.timelines,
    process.commands,
    peers.locks,
    redis_store.locks,
    redis_store.held,
    postgres_store.locks,
    postgres_store.held,
    postgres_store.contention,
    postgres_store.waking,
    git_store.claim,
    git_store.crowd,
    wake.waking,
    board.cycles,
    board.tasks,
    crew.prompts,
    crew.quiet,
    board.past,
    crowd.crowd,
    commits.commits,
    gates.commits,
    hook.hooks,
    rest.claims,
    forecast.forecasts,
    briefing.commands,
    briefing.day,
    server_load.agents,
    events.fan_out,
    events.never_read,
    dashboard.pages,
)
INTRO = (
    "# Benchmarks\n\n"
    "For people who want to know what Dibs costs. `make bench` measures and writes this page; `make bench"
    " ARGS=hook` prints one section. Goals are ratios or limits within one run, because absolute times"
    " depend on the machine and its load.\n\n"
)
MARK = {True: "yes", False: "**no**", None: ""}


def table(section: Section) -> str:
    """Return one section as Markdown."""
    lines = [f"## {section.title}", "", section.note, "", "| what | figure | goal | met |"]
    lines.append("|---|---|---|---|")
    lines += [f"| {r.what} | {r.figure} | {r.goal} | {MARK[r.met]} |" for r in section.rows]
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> int:
    """Measure and print. The exit status is 0 even if a goal is missed: the table says so."""
    modules = [measure.__module__.removeprefix("bench.") for measure in SECTIONS]
    if unknown := sorted(set(names) - set(modules)):
        print(f"bench: unknown section {unknown[0]} (one of: {', '.join(dict.fromkeys(modules))})")
        return 2
    parts = [INTRO + _machine()]
    for module, measure in zip(modules, SECTIONS, strict=True):
        if names and module not in names:
            continue
        print(f"measuring: {module}.{measure.__name__}", file=sys.stderr, flush=True)
        parts.append(table(measure()))
        print(parts[-1], flush=True)
    if not names:
        page = Path(__file__).parent.parent / "docs" / "bench.md"
        page.write_text("\n".join(parts), encoding="utf-8")
        print("wrote docs/bench.md")
    return 0


def _machine() -> str:
    return (
        f"This run: {os.cpu_count()} cores, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}.\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
