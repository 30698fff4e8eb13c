"""A check of a store, with measurements; nothing that is written stays."""

from __future__ import annotations

import os
import time
from functools import partial

from dibs.core.text.findings import Finding, Level
from dibs.errors import Unavailable, Unknown
from dibs.services.state.keys import PROBE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Engine, Txn

#: How many times each call is measured, unless that takes longer than ``ENOUGH`` seconds (each may
#: be a push).
ROUNDS = 5
ENOUGH = 0.25


class Measured(Record):
    """Medians, in milliseconds."""

    #: A transaction that writes; None if nothing may be written.
    transaction: float | None
    view: float


def inspected(engine: Engine) -> tuple[list[Finding], Measured]:
    """Return what is known about a store, and how fast it is."""
    from dibs.services.state.damage import findings

    found = [*engine.inspect(), *findings(engine)]
    try:
        measured = measure(engine, write=getattr(engine, "exists", True))
    except Unknown as error:  # what is known may say why
        found.append(Finding(Level.BAD, "transaction", error.message))
        measured = measure(engine, write=False)
    if engine.as_of is not None:
        raise Unavailable("the remote is unreachable", hint="try again when it is back")
    return found, measured


def measure(engine: Engine, *, write: bool) -> Measured:
    """Time real transactions and views; ``write`` if test rows may be written."""
    name = os.urandom(6).hex()
    engine.view(_look)  # the first call connects
    view = _median([lambda: engine.view(_look)])
    if not write:
        return Measured(None, view)
    return Measured(
        _median(
            [
                lambda: engine.transact(partial(_probe, name=name)),
                lambda: engine.transact(partial(_probe, name="")),
            ]
        ),
        view,
    )


def _look(txn: Txn) -> object:
    return txn.get(PROBE), txn.now


def _probe(txn: Txn, name: str) -> None:
    """Write a test row, and delete those that a killed measurement left."""
    for key, _ in list(txn.scan((PROBE, ""))):
        txn.delete(key)
    if name:
        txn.put(PROBE + name, "1")


def _median(calls: list[Callable[[], object]]) -> float:
    """Make the calls in turn, several times; return the median duration of one."""
    taken: list[float] = []
    started = time.perf_counter()
    for _ in range(ROUNDS):
        for call in calls:
            before = time.perf_counter()
            call()
            taken.append((time.perf_counter() - before) * 1e3)
        if time.perf_counter() - started > ENOUGH:
            break
    return round(sorted(taken)[len(taken) // 2], 3)
