"""Deadlines of anything: rows, so that they survive whoever set them, carried out by whoever comes next.

``due/<moment>/<what>/<id>`` says that at a moment something becomes of ``id``. No process waits for it:
commands that show or tell the outcome call ``settle`` first. While nothing is due, that is one look at one
row. What is due is carried out in the transaction that takes its row away, so it happens exactly once.

What happens is decided by the service that ``what`` names: a function ``(store, rows, id)`` that changes the
state by ``rows`` alone, and raises nothing because its thing is gone: a deadline may outlive what it was for.
"""

from __future__ import annotations

from itertools import islice

from dibs.services.state.keys import DUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

    Handler = Callable[[Store, Rows, str], None]

#: How many deadlines one transaction carries out, so that none grows long.
BATCH = 100
#: For each kind of deadline the service, and the function in it, that carries it out.
HANDLERS = {
    "decision": ("talk.decisions", "fall_silent"),
    "mail": ("talk.acknowledgements", "overdue"),
    "ladder": ("claims.ladder", "settle"),
    "promise": ("claims.promises", "remind"),
}


def put(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Let something become of ``id_`` at ``moment``; a repeat changes nothing."""
    rows.txn.put(_key(moment, what, id_), "{}")


def drop(rows: Rows, moment: float, what: str, id_: str) -> None:
    """Take a deadline back; nothing happens if it is gone."""
    rows.txn.delete(_key(moment, what, id_))


def settle(store: Store) -> int:
    """Carry out all that is due, and return how many deadlines that were.

    A reader of old state, because the engine cannot be reached, carries out nothing.
    """
    if not store.look(_something_is_due) or store.engine.as_of is not None:
        return 0
    total = 0
    while done := store.apply(lambda rows: _carry_out(store, rows)):
        total += done
        if done < BATCH:
            break
    return total


def shifted(key: str, shift: float) -> str:
    """Return the key of a deadline that is ``shift`` seconds later."""
    _, moment, what, id_ = key.split("/", 3)
    return _key(float(moment) + shift, what, id_)


def _something_is_due(rows: Rows) -> bool:
    return next(_passed(rows), None) is not None


def _carry_out(store: Store, rows: Rows) -> int:
    """Carry out the earliest deadlines that have passed."""
    passed = list(islice(_passed(rows), BATCH))
    for key in passed:
        rows.txn.delete(key)
        _, _, what, id_ = key.split("/", 3)
        _handler(what)(store, rows, id_)
    return len(passed)


def _passed(rows: Rows) -> Iterator[str]:
    """Yield the deadlines that have passed, the earliest first; one that is now has passed.

    A kind that this version does not know stays for one that does.
    """
    now = mark(rows.now)
    for key, _ in rows.txn.scan((DUE, "")):
        _, moment, what, _ = key.split("/", 3)
        if moment > now:
            return
        if what in HANDLERS:
            yield key


def _handler(what: str) -> Handler:
    from importlib import import_module

    module, name = HANDLERS[what]
    found: Handler = getattr(import_module(f"dibs.services.{module}"), name)
    return found


def _key(moment: float, what: str, id_: str) -> str:
    return f"{DUE}{mark(moment)}/{what}/{id_}"


def mark(moment: float) -> str:
    """Return a moment so that the order of texts is that of the moments."""
    return f"{moment:017.6f}"
