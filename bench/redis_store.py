"""Compare the Redis engine with Redis lock libraries, on its own server."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import redis
import redis_lock
from pottery import Redlock
from tests.servers import RedisServer

from bench.measure import Row, Section, at_most, blocks, median
from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.redis.mirror import Mirror
from dibs.services.claims.claim_keys import PREFIX, claim_keys
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

HELD = 100_000
GOALS = {1: 1.4, 5: 0.5, 50: 0.15}
CLAIM_KEYS = Mirror(PREFIX, claim_keys)


class Ours:
    """Claim and release through the services, as every surface does."""

    def __init__(self, url: str, project: str, mirror: Mirror | None = CLAIM_KEYS) -> None:
        engine = RedisEngine(url, project, mirror=mirror)
        store = Store(engine, Config(ledger_limit=1_000_000))
        self.claims, self.holdings = Claims(store), Holdings(store)

    def pair(self, count: int) -> Callable[[int], None]:
        """Return a function that claims and releases ``count`` paths."""
        me, paths = Caller("agent-01"), [parse(f"src/pkg{n % 7}/m{n}.py") for n in range(count)]

        def act(_: int) -> None:
            self.claims.claim(me, paths)
            self.holdings.release(me, paths)

        return act

    def hold(self, count: int) -> None:
        """Create ``count`` claims of other agents."""
        for start in range(0, count, 1000):
            paths = [parse(f"held/d{n % 997}/f{n}.py") for n in range(start, start + 1000)]
            self.claims.claim(Caller(f"holder-{start // 10_000}"), paths)


def locks() -> Section:
    """Compare claim and release with redis-py's Lock, for one path and several."""
    with tempfile.TemporaryDirectory() as folder, RedisServer(folder) as server:
        client = redis.Redis(port=server.port)
        ours = Ours(server.url, "bench")
        rows = []
        for count, goal in GOALS.items():
            peers = [client.lock(f"lock:{n}", timeout=30) for n in range(count)]

            def theirs(_: int, peers: list[redis.lock.Lock] = peers) -> None:
                for lock in peers:
                    lock.acquire(blocking=False)
                for lock in peers:
                    lock.release()

            actions = {"ours": ours.pair(count), "redis-py": theirs}
            samples = blocks(actions, rounds=12, each=max(10, 300 // count))
            s = "s" if count > 1 else ""
            mine, peer = median(samples["ours"]), median(samples["redis-py"])
            rows += [
                Row(f"claim + release of {count} path{s}, p50", f"{mine * 1e6:.0f} µs"),
                at_most(f"same / {count} redis-py lock{s}", mine / peer, goal),
            ]
        rows += [_claim_keys(ours, Ours(server.url, "plain", None)), *_peers(ours, client)]
    note = (
        "One client, one local server, no contention. Dibs also checks globs and writes a ledger."
    )
    return Section("Compared with Redis locks", note, rows)


def _claim_keys(ours: Ours, plain: Ours) -> Row:
    """Return the cost of the keys that people read."""
    samples = blocks({"with": ours.pair(1), "without": plain.pair(1)}, rounds=12, each=150)
    ratio = median(samples["with"]) / median(samples["without"])
    return at_most("claim + release of 1 path with claim keys / without", ratio, 1.15)


def _peers(ours: Ours, client: redis.Redis) -> list[Row]:
    lock = client.lock("lock:peer", timeout=30)
    other = redis_lock.Lock(client, "peer", expire=30)
    red = Redlock(key="peer", masters={client}, auto_release_time=30)

    def acquire(one: object) -> Callable[[int], None]:
        def act(_: int) -> None:
            one.acquire()  # type: ignore[attr-defined]
            one.release()  # type: ignore[attr-defined]

        return act

    actions = {
        "dibs": ours.pair(1),
        "redis-py Lock": acquire(lock),
        "python-redis-lock": acquire(other),
        "pottery Redlock, one master": acquire(red),
    }
    samples = blocks(actions, rounds=6, each=60)
    base = median(samples["dibs"])
    return [
        Row(
            f"{name}, one path",
            f"{median(times) * 1e6:.0f} µs ({median(times) / base:.2f} of dibs)",
        )
        for name, times in samples.items()
    ]


def held() -> Section:
    """Compare a claim among many claims with a claim in an empty store."""
    with tempfile.TemporaryDirectory() as folder, RedisServer(folder) as server:
        empty, full = Ours(server.url, "empty"), Ours(server.url, "full")
        full.hold(HELD - 1000)
        actions = {"empty": empty.pair(1), "full": full.pair(1)}
        samples = blocks(actions, rounds=12, each=150)
    ratio = median(samples["full"]) / median(samples["empty"])
    rows = [
        at_most(f"claim + release among {HELD - 1000:,} claims / in an empty store", ratio, 1.3)
    ]
    return Section("Redis with many claims", "The same calls in two projects.", rows)
