"""Deadlines of anything: rows, so that they survive whoever set them, carried out by whoever comes next.

No process waits for a deadline: commands that show or tell the outcome settle first. While nothing is due,
that is one look at one row. What is due is carried out in the transaction that takes its row away, so it
happens exactly once. A handler ``(store, rows, id)`` changes the state by ``rows`` alone, and raises nothing
because its thing is gone: a deadline may outlive what it was for.
"""

from __future__ import annotations

from itertools import islice

from dibs.services.state.keys import DUE, OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    #: By kind of deadline, what carries it out.
    Handlers = Mapping[str, Callable[[Store, Rows, str], None]]

#: How many deadlines one transaction carries out, so that none grows long.
BATCH = 100


def put(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Let something become of ``id_`` at ``moment``; a repeat changes nothing."""
    rows.txn.put(_key(moment, what, id_), "{}")


def drop(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Take a deadline back; nothing happens if it is gone."""
    rows.txn.delete(_key(moment, what, id_))


def settle(store: Store, handlers: Handlers) -> int:
    """Carry out all that is due, and return how many deadlines that were.

    A reader of old state, because the engine cannot be reached, carries out nothing.
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


def is_anything_due(rows: Rows) -> bool:
    """Tell whether a deadline has passed, or a decision waits that may have become needless."""
    first = next(iter(rows.txn.scan((DUE, ""))), None)
    passed = first is not None and first[0].split("/")[1] <= mark(rows.now)
    return passed or next(iter(rows.txn.scan((OPEN, ""))), None) is not None


def shifted(key: str, shift: float) -> str:
    """Return the key of a deadline that is ``shift`` seconds later."""
    _, moment, what, id_ = key.split("/", 3)
    return _key(float(moment) + shift, what, id_)


def _carry_out(store: Store, rows: Rows, handlers: Handlers) -> int:
    """Carry out the earliest deadlines that have passed."""
    passed = list(islice(_passed(rows, handlers), BATCH))
    for key in passed:
        rows.txn.delete(key)
        _, _, what, id_ = key.split("/", 3)
        handlers[what](store, rows, id_)
    return len(passed)


def _passed(rows: Rows, handlers: Handlers) -> Iterator[str]:
    """Yield the deadlines that have passed, the earliest first; one that is now has passed.

    A kind that this version does not know stays for one that does.
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
    """Return a moment so that the order of texts is that of the moments."""
    return f"{moment:017.6f}"
