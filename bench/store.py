"""Measure the SQLite engine: the cost of a claim, in one process and among sixteen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import apsw

from bench.measure import Row, Section, at_least, at_most, blocks, median, percentile
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

ALICE = Caller("agent-01")
PROCESSES = 16
SECONDS = 4.0


def _empty(folder: str) -> apsw.Connection:
    db = apsw.Connection(os.path.join(folder, "floor.db"))
    db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE t(x)")
    return db


def claim() -> Section:
    """Compare a claim with an empty transaction on the same disk."""
    with tempfile.TemporaryDirectory() as folder:
        floor = _empty(folder)
        store = Store(SqliteEngine(os.path.join(folder, "state", "dibs.db")), Config())
        claims, holdings = Claims(store), Holdings(store)
        paths = [parse(f"src/pkg{n % 50}/module_{n}.py") for n in range(20_000)]

        def empty(_: int) -> None:
            floor.execute("BEGIN IMMEDIATE")
            floor.execute("COMMIT")

        samples = blocks(
            {
                "empty": empty,
                "claim": lambda n: claims.claim(ALICE, [paths[n]]),
                "release": lambda n: holdings.release(ALICE, [paths[n]]),
            },
            rounds=20,
            each=150,
        )
        store.engine.close()
    base = median(samples["empty"])
    rows = [
        Row("empty BEGIN IMMEDIATE; COMMIT, p50", f"{base * 1e6:.1f} µs"),
        Row("claim of one path, p50", f"{median(samples['claim']) * 1e6:.1f} µs"),
        Row("same, p99", f"{percentile(samples['claim'], 0.99) * 1e6:.0f} µs"),
        at_most("claim / empty transaction", median(samples["claim"]) / base, 12),
        Row("release / empty transaction", f"{median(samples['release']) / base:.2f}x"),
    ]
    return Section(
        "SQLite, one process",
        "A claim checks for overlaps, records a heartbeat, allocates a token, and writes the ledger.",
        rows,
    )


def held() -> Section:
    """Compare the conflict check among few and many claims."""
    with tempfile.TemporaryDirectory() as folder:
        asks = [parse(f"src/pkg{n % 97}/free_{n}.py") for n in range(4000)]
        wide = [parse("**/*.rs"), parse("**/test_zz*.py"), parse("docs/**")]
        checks = {}
        for count in (10, 10_000):
            store = Store(SqliteEngine(os.path.join(folder, str(count), "dibs.db")), Config())
            claims = Claims(store)
            patterns = [parse(f"src/pkg{n % 97}/mod_{n}.py") for n in range(count)]
            for at in range(0, count, 500):
                claims.claim(Caller(f"agent-{at}"), patterns[at : at + 500])
            checks[count] = claims
        bob = Caller("bob")
        samples = blocks(
            {
                "few": lambda n: checks[10].check(bob, [asks[n]]),
                "many": lambda n: checks[10_000].check(bob, [asks[n]]),
            },
            rounds=20,
            each=100,
        )
        globs = blocks(
            {"wide": lambda n: checks[10_000].check(bob, [wide[n % 3]])}, rounds=1, each=60
        )
    ratio = median(samples["many"]) / median(samples["few"])
    rows = [
        Row("conflict check among 10 claims, p50", f"{median(samples['few']) * 1e6:.1f} µs"),
        Row("among 10,000 claims, p50", f"{median(samples['many']) * 1e6:.1f} µs"),
        at_most("10,000 claims / 10 claims", ratio, 1.5),
        at_most("wide glob among 10,000 claims, p50", median(globs["wide"]) * 1e3, 1, " ms"),
    ]
    return Section("SQLite, conflict check", "Through `check`, with the store on disk.", rows)


def work(database: str, name: str, seconds: float) -> None:
    """Claim and release one path repeatedly; print the count and the longest call."""
    store = Store(SqliteEngine(database), Config())
    claims, holdings = Claims(store), Holdings(store)
    me, path = Caller(name), [parse(f"src/{name}.py")]
    claims.claim(me, path)
    holdings.release(me, path)
    print("ready", flush=True)
    sys.stdin.readline()
    count, longest = 0, 0.0
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        claims.claim(me, path)
        middle = time.monotonic()
        holdings.release(me, path)
        longest = max(longest, middle - start, time.monotonic() - middle)
        count += 1
    print(count, longest, flush=True)


def _crowd(database: str, processes: int) -> list[tuple[int, float]]:
    crew = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.store", database, f"w{n}", str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for one in crew:
        assert one.stdout is not None
        one.stdout.readline()
    for one in crew:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    results = []
    for one in crew:
        out, _ = one.communicate()
        count, longest = out.split()
        results.append((int(count), float(longest)))
    return results


def contention() -> Section:
    """Compare the throughput of sixteen processes with that of one."""
    with tempfile.TemporaryDirectory() as folder:
        alone = _crowd(os.path.join(folder, "one", "dibs.db"), 1)
        crowd = _crowd(os.path.join(folder, "many", "dibs.db"), PROCESSES)
    one, many = alone[0][0] / SECONDS, sum(c for c, _ in crowd) / SECONDS
    counts = [count for count, _ in crowd]
    longest = max(wait for _, wait in crowd)
    rows = [
        Row("one process, claim + release", f"{one:.0f} pairs/s"),
        Row(f"{PROCESSES} processes together", f"{many:.0f} pairs/s"),
        at_least("all processes / one process", many / one, 0.6),
        at_least("slowest / fastest process", min(counts) / max(counts), 0.4),
        at_most("longest call", longest * 1e3, 200, " ms"),
    ]
    return Section(
        "SQLite, concurrent processes",
        f"{SECONDS:g} s each; every process claims and releases its own path.",
        rows,
    )


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], float(sys.argv[3]))
