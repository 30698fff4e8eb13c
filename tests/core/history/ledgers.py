"""Ledgers for tests: one told entry by entry, and a long one of a busy crew."""

from __future__ import annotations

import random
from typing import Any

from dibs.core.claims.ledger import Entry, Kind

BEGIN = 1_800_000_000.0


class Told:
    """A ledger that a test tells: ``told(5, "ada", Kind.LOCK_ACQUIRED, patterns=["a"])`` at second 5."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def __call__(
        self, second: float, agent: str, kind: str, summary: str = "", /, role: str = "agent", **details: Any
    ) -> int:  # fmt: skip
        seq = len(self.entries) + 1
        self.entries.append(Entry(seq, BEGIN + second, agent, role, kind, summary, details))
        return seq


def busy_ledger(count: int, agents: int = 8, files: int = 60, seed: int = 1) -> list[Entry]:
    """Return a long ledger: agents claim, wait, commit, and finish tasks, and some die."""
    told, rng, second = Told(), random.Random(seed), 0.0
    names = [f"claude-{rng.getrandbits(32):08x}" for _ in range(agents)]
    paths = [f"src/shop/part{n % 7}/module_{n}.py" for n in range(files)]
    held: dict[str, dict[str, int]] = {name: {} for name in names}
    for name in names:
        told(0, name, Kind.AGENT_JOINED, f"{name} joined as agent", parent="")
    while len(told.entries) < count:
        second += rng.expovariate(0.5)
        second = _step(told, rng, second, rng.choice(names), rng.choice(paths), held)
    return told.entries


def _step(
    told: Told, rng: random.Random, second: float, name: str, path: str, held: dict[str, dict[str, int]]
) -> float:  # fmt: skip
    own = held[name]
    if own and rng.random() < 0.5:
        pattern, token = own.popitem()
        if rng.random() < 0.4:
            told(second, name, Kind.COMMITTED, f"{name}: change {pattern}", paths=[pattern])
        if rng.random() < 0.05:
            told(
                second, name, Kind.LOCK_EXPIRED, "expired",
                pattern=pattern, token=token, expired_at=BEGIN + second - 1,
            )  # fmt: skip
        else:
            told(second, name, Kind.LOCK_RELEASED, "", patterns=[pattern], tokens=[token])
        return second
    holder = next((other for other, theirs in held.items() if path in theirs), None)
    if holder is None:
        own[path] = told(
            second, name, Kind.LOCK_ACQUIRED, "", patterns=[path], mode="exclusive", ttl=300.0,
            reason="refactor the cart",
        )  # fmt: skip
    elif holder != name:
        told(second, name, Kind.LOCK_DENIED, "denied", pattern=path, held=path, holder=holder)
        ticket = told(
            second, name, Kind.LOCK_QUEUED, "", patterns=[path], mode="exclusive", holders=[holder]
        )
        token = held[holder].pop(path)
        later = second + rng.expovariate(0.03)
        told(later, holder, Kind.LOCK_RELEASED, "", patterns=[path], tokens=[token])
        own[path] = told(
            later, name, Kind.LOCK_ACQUIRED, "", patterns=[path], mode="exclusive", ttl=300.0, ticket=ticket
        )  # fmt: skip
        return later
    return second
