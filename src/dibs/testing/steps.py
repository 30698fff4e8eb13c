"""Steps and helpers that the contract tests share."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

from dibs.core.claims.ledger import Event, Kind
from dibs.core.patterns.filing import Range

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from dibs.core.claims.ledger import Entry
    from dibs.engines.base import Engine, Txn

    Connect: TypeAlias = Callable[..., Engine]

#: Seconds after which an expected event counts as missing.
LONG = 60.0


class Broken(Exception):
    """An error raised by a test's step."""


class ContractPart:
    """Base class of the contract's parts."""

    #: Seconds that a rival gets in the middle of a step. An engine that locks makes it wait longer;
    #: an engine with slow steps needs more, so that races still happen.
    patience = 0.2

    def meanwhile(self, rival: Thread) -> None:
        """Start ``rival``, unless an earlier run of the step did, and give it time to finish."""
        if not rival.ident:
            rival.start()
            rival.join(self.patience)


def event(summary: str, **details: Any) -> Event:
    """Return an event with this ``summary``."""
    return Event("agent-1", "coder", Kind.DECISION_MADE, summary, details)


def increment(txn: Txn) -> int:
    """Add one to the key ``count``, and record that in the ledger."""
    txn.put("count", str(int(txn.get("count") or 0) + 1))
    return txn.emit(event("one more"))


def add_up(engine: Engine, times: int) -> None:
    """Increment the counter this many times; run by the contract's processes."""
    for _ in range(times):
        engine.transact(increment)


def in_threads(engines: list[Engine], *, times: int) -> None:
    """Run ``add_up`` on each engine concurrently, each in its own thread."""
    threads = [Thread(target=add_up, args=(engine, times)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)


def put(engine: Engine, **values: str) -> None:
    """Write all values in one step."""

    def step(txn: Txn) -> None:
        for key, value in values.items():
            txn.put(key, value)

    engine.transact(step)


def drop(engine: Engine, *keys: str) -> None:
    """Delete all keys in one step."""

    def step(txn: Txn) -> None:
        for key in keys:
            txn.delete(key)

    engine.transact(step)


def scan(engine: Engine, *ranges: Range) -> list[str]:
    """Return the keys in ``ranges``."""
    return engine.transact(lambda txn: [key for key, _ in txn.scan(*ranges)])


def everything(engine: Engine) -> list[tuple[str, str]]:
    """Return all keys with their values."""
    return engine.transact(lambda txn: list(txn.scan(Range(""))))


def entries(engine: Engine, after: int = 0, *, newest_first: bool = False) -> list[Entry]:
    """Return the ledger's entries."""
    return engine.transact(lambda txn: list(txn.events(after, newest_first=newest_first)))


def refused(error: type[BaseException], call: Callable[[], object]) -> None:
    """Fail unless ``call`` raises ``error``."""
    try:
        call()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")
