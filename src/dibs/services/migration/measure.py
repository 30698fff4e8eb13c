"""Measurements of a store, and whether it is open; nothing that is written stays."""

from __future__ import annotations

import os
import time
from functools import partial

from dibs.core.text.findings import Finding, Level
from dibs.errors import Unavailable, Unknown
from dibs.services.state.lifecycle import ClosedReason, closure, probe
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


def is_open(engine: Engine) -> list[Finding]:
    """Return findings if this store is closed; none if agents can work in it."""
    found = engine.view(closure)
    if engine.as_of is not None:
        raise Unavailable("the remote is unreachable", hint="try again when it is back")
    if found is None:
        return []
    if found.why == ClosedReason.MOVED:
        text = f"the state was migrated to {found.other}; this store is closed"
        return [Finding(Level.BAD, "moved", text)]
    way = "to" if found.why == ClosedReason.MOVING else "here from"
    text = (
        f"the state is being migrated {way} {found.other}; this store is closed until that is done"
    )
    return [Finding(Level.BAD, "moved", text)]


def inspected(engine: Engine) -> tuple[list[Finding], Measured]:
    """Return what is known about a store, and how fast it is."""
    from dibs.services.state.damage import findings

    closed = is_open(engine)
    found = [*engine.inspect(), *findings(engine), *closed]
    try:
        return found, measure(engine, write=not closed and getattr(engine, "exists", True))
    except Unknown as error:  # what is known may say why
        found.append(Finding(Level.BAD, "transaction", error.message))
        return found, measure(engine, write=False)


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
                lambda: engine.transact(partial(probe, name=name)),
                lambda: engine.transact(partial(probe, name="")),
            ]
        ),
        view,
    )


def _look(txn: Txn) -> object:
    return closure(txn), txn.now


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
