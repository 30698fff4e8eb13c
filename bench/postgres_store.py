"""Compare the PostgreSQL engine with an empty transaction and an advisory lock, on its own server."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from tests.servers import PostgresServer

from bench.measure import Row, Section, at_least, at_most, blocks, median
from bench.wake import rows_of
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.postgres.engine import PostgresEngine
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg import Connection

HELD, PROCESSES, SECONDS = 100_000, 16, 4.0
#: As in production, with a commit that waits for the disk.
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "shared_buffers": "128MB"}
#: An empty transaction that is durable. A transaction that writes nothing does not wait for the disk, even if
#: it has a number, so this one writes the smallest record there is.
EMPTY = "BEGIN; SELECT pg_logical_emit_message(true, '', ''); COMMIT"
#: The same without the record: its commit does not wait for the disk.
NUMBERED = "BEGIN; SELECT pg_current_xact_id(); COMMIT"


class Ours:
    """Claim and release through the services, as every surface does."""

    def __init__(self, url: str, project: str) -> None:
        store = Store(PostgresEngine(url, project), Config(ledger_limit=1_000_000))
        self.claims, self.holdings = Claims(store), Holdings(store)
        self.close = store.engine.close

    def pair(self, name: str = "agent-01") -> Callable[[int], None]:
        """Return a function that claims and releases one path."""
        me, paths = Caller(name), [parse(f"src/{name}.py")]

        def act(_: int) -> None:
            self.claims.claim(me, paths)
            self.holdings.release(me, paths)

        return act

    def hold(self, count: int) -> None:
        """Create ``count`` claims of other agents."""
        for start in range(0, count, 1000):
            paths = [parse(f"held/d{n % 997}/f{n}.py") for n in range(start, start + 1000)]
            self.claims.claim(Caller(f"holder-{start // 10_000}"), paths)


@contextmanager
def served() -> Iterator[str]:
    """Run a server; yield its URL."""
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(folder, settings=SETTINGS) as server,
    ):
        yield server.url


def locks() -> Section:
    """Compare claim and release with two empty transactions, and with an advisory lock and its row."""
    with served() as url, psycopg.connect(url, autocommit=True) as client:
        ours = Ours(url, "bench")
        actions = {
            "ours": ours.pair(),
            "empty": lambda _: (client.execute(EMPTY), client.execute(EMPTY)),
            "numbered": lambda _: (client.execute(NUMBERED), client.execute(NUMBERED)),
            "lock": _advisory(client),
        }
        times = {name: median(t) for name, t in blocks(actions, rounds=12, each=200).items()}
        ours.close()
    rows = [
        Row("claim + release of one path, p50", f"{times['ours'] * 1e6:.0f} µs"),
        Row("two empty transactions, p50", f"{times['empty'] * 1e6:.0f} µs"),
        at_most("claim + release / two empty transactions", times["ours"] / times["empty"], 2.0),
        Row("advisory lock with a row for its owner, p50", f"{times['lock'] * 1e6:.0f} µs"),
        at_most("claim + release / advisory lock with a row", times["ours"] / times["lock"], 1.5),
        Row("two transactions that are not durable, p50", f"{times['numbered'] * 1e6:.0f} µs"),
    ]
    note = (
        "One client, one local server, `fsync` and `synchronous_commit` on. An empty transaction writes one"
        " record, because a commit without one does not wait for the disk. The lock's owner is in a row,"
        " inserted and deleted in a transaction each; it has no queue, no expiry, and no ledger."
    )
    return Section("Compared with PostgreSQL transactions and locks", note, rows)


def _advisory(client: Connection) -> Callable[[int], None]:
    client.execute("CREATE TABLE owner (lock bigint PRIMARY KEY, name text NOT NULL)")

    def act(number: int) -> None:
        client.execute("SELECT pg_advisory_lock(%s)", (number,))
        client.execute("INSERT INTO owner VALUES (%s, %s)", (number, "agent-01"))
        client.execute("DELETE FROM owner WHERE lock = %s", (number,))
        client.execute("SELECT pg_advisory_unlock(%s)", (number,))

    return act


def held() -> Section:
    """Compare a claim among many claims with a claim in an empty store."""
    with served() as url:
        empty, full = Ours(url, "empty"), Ours(url, "full")
        full.hold(HELD)
        samples = blocks({"empty": empty.pair(), "full": full.pair()}, rounds=12, each=150)
        empty.close()
        full.close()
    ratio = median(samples["full"]) / median(samples["empty"])
    rows = [at_most(f"claim + release among {HELD:,} claims / in an empty store", ratio, 1.3)]
    return Section("PostgreSQL with many claims", "The same calls in two projects.", rows)


def contention() -> Section:
    """Compare the throughput of sixteen processes with that of one."""
    with served() as url:
        alone = _crowd(url, "one", 1)
        crowd = _crowd(url, "many", PROCESSES)
    one, counts = alone[0][0] / SECONDS, [count for count, _ in crowd]
    many, longest = sum(counts) / SECONDS, max(wait for _, wait in crowd)
    rows = [
        Row("one process, claim + release", f"{one:.0f} pairs/s"),
        Row(f"{PROCESSES} processes together", f"{many:.0f} pairs/s"),
        at_least("all processes / one process", many / one, 0.8),
        Row("slowest / fastest process", f"{min(counts) / max(counts):.2f}x"),
        Row("longest call", f"{longest * 1e3:.0f} ms"),
    ]
    note = f"{SECONDS:g} s each; every process claims and releases its own path."
    return Section("PostgreSQL, concurrent processes", note, rows)


def _crowd(url: str, project: str, processes: int) -> list[tuple[int, float]]:
    crew = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.postgres_store", url, project, f"w{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=os.getcwd(),
        )
        for number in range(processes)
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
        count, longest = one.communicate()[0].split()
        results.append((int(count), float(longest)))
    return results


def work(url: str, project: str, name: str) -> None:
    """Claim and release one path repeatedly; print the count and the longest pair."""
    act = Ours(url, project).pair(name)
    act(0)
    print("ready", flush=True)
    sys.stdin.readline()
    count, longest, end = 0, 0.0, time.monotonic() + SECONDS
    while (start := time.monotonic()) < end:
        act(count)
        longest = max(longest, time.monotonic() - start)
        count += 1
    print(count, longest, flush=True)


def waking() -> Section:
    """Time from the release call until the next waiter has its claim."""
    with served() as url:
        rows = rows_of("PostgreSQL", url)
    note = "Two processes; the waiter has been waiting for 20 ms."
    return Section("PostgreSQL, waking the next waiter", note, rows)


if __name__ == "__main__":
    work(*sys.argv[1:])
