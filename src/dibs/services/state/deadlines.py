"""Deadlines: rows, so that they outlive the process that set them; the next command handles them.

No process waits for a deadline: commands that show an outcome handle due deadlines first. If
nothing is due, that costs one read. A deadline is handled in the transaction that removes its row,
so it happens exactly once. A handler ``(store, rows, id)`` changes state only through ``rows`` and
must not fail if its subject no longer exists: a deadline may outlive it.
"""

from __future__ import annotations

from itertools import islice

from dibs.services.state.keys import DUE, JOB, OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    #: The handler of each kind of deadline.
    Handlers = Mapping[str, Callable[[Store, Rows, str], None]]

#: How many deadlines one transaction handles, to keep it short.
BATCH = 100


def put(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Set a deadline for ``id_``; a repeat changes nothing."""
    rows.txn.put(_key(moment, what, id_), "{}")


def drop(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Remove a deadline, if it exists."""
    rows.txn.delete(_key(moment, what, id_))


def settle(store: Store, handlers: Handlers) -> int:
    """Handle all due deadlines, and return how many there were.

    Does nothing if the state is stale because the engine is unreachable.
    """
    is_due = store.look(lambda rows: next(_passed(rows, handlers), None) is not None)
    if not is_due or store.engine.as_of is not None:
        return 0
    total = 0
    while done := store.apply(lambda rows: _carry_out(store, rows, handlers)):
        total += done
        if done < BATCH:
            break
    return total


def next_moment(rows: Rows, handlers: Handlers) -> float:
    """Return the earliest deadline of a kind that this version knows; ``NEVER`` if there is none."""
    from dibs.core.claims.agents import NEVER

    for key, _ in rows.txn.scan((DUE, "")):
        _, moment, what, _ = key.split("/", 3)
        if what in handlers:
            return float(moment)
    return NEVER


def is_anything_due(rows: Rows) -> bool:
    """Return whether a deadline has passed, or a decision is pending that may no longer be needed."""
    first = next(iter(rows.txn.scan((DUE, ""))), None)
    passed = first is not None and first[0].split("/")[1] <= mark(rows.now)
    return passed or next(iter(rows.txn.scan((OPEN, ""))), None) is not None


def _carry_out(store: Store, rows: Rows, handlers: Handlers) -> int:
    """Handle the earliest deadlines that have passed."""
    passed = list(islice(_passed(rows, handlers), BATCH))
    for key in passed:
        rows.txn.delete(key)
        _, _, what, id_ = key.split("/", 3)
        handlers[what](store, rows, id_)
    return len(passed)


def _passed(rows: Rows, handlers: Handlers) -> Iterator[str]:
    """Yield the deadlines that have passed, earliest first, including any that are due now.

    A kind that this version does not know is left for one that does.
    """
    now = mark(rows.now)
    for key, _ in rows.txn.scan((DUE, "")):
        _, moment, what, _ = key.split("/", 3)
        if moment > now:
            return
        if what in handlers:
            yield key


def _key(moment: float, what: str, id_: str) -> str:
    return f"{DUE}{mark(moment)}/{what}/{id_}"


def mark(moment: float) -> str:
    """Return a time as text that sorts chronologically."""
    return f"{moment:017.6f}"


# -- jobs of the servers that share the store; services/schedule has their rules


def job(rows: Rows, name: str) -> dict[str, Any] | None:
    """Return who runs a job, since when, and until when; None if it never ran."""
    from dibs.services.state.rows import decode

    value = rows.txn.get(f"{JOB}{name}")
    return None if value is None else decode(value)


def put_job(rows: Rows, name: str, record: dict[str, Any]) -> None:
    """Write who runs a job."""
    from dibs.services.state.rows import encode

    rows.txn.put(f"{JOB}{name}", encode(record))
