"""Rows of event handlers: how far each one is, and which server runs it.

Position and lease are one row, so a server that lost the lease can never move the position back or report
twice: the transaction that records an event as handled also checks the lease.
"""

from __future__ import annotations

from dibs.services.state.keys import HANDLER
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.services.state.rows import Rows


class HandlerRow(Record):
    """A handler's position in the ledger, and its lease."""

    #: The number of the last event that it handled or skipped.
    seq: int
    #: The server that runs it, and until when; empty if none does.
    owner: str = ""
    until: float = 0.0
    #: How many events it handled, gave up on, and never saw because too many were waiting.
    handled: int = 0
    skipped: int = 0
    dropped: int = 0
    #: Its last error, and when that was.
    error: str = ""
    failed_at: float = 0.0


def get_handler(rows: Rows, name: str) -> HandlerRow | None:
    """Return a handler's row."""
    value = rows.txn.get(HANDLER + name)
    return None if value is None else HandlerRow(*decode(value))


def put_handler(rows: Rows, name: str, row: HandlerRow) -> None:
    """Write a handler's row."""
    rows.txn.put(HANDLER + name, encode(list(row)))


def drop_handler(rows: Rows, name: str) -> None:
    """Forget a handler, which starts with new events if it returns."""
    rows.txn.delete(HANDLER + name)


def all_handlers(rows: Rows) -> dict[str, HandlerRow]:
    """Return all rows by name."""
    found = rows.txn.scan((HANDLER, ""))
    return {key.removeprefix(HANDLER): HandlerRow(*decode(value)) for key, value in found}


def add_missing(rows: Rows, names: Iterable[str]) -> None:
    """Let handlers without a row begin after the newest event."""
    newest = next(rows.events(newest_first=True), None)
    start = newest.seq if newest is not None else 0
    for name in names:
        if get_handler(rows, name) is None:
            put_handler(rows, name, HandlerRow(start))


def take(rows: Rows, name: str, owner: str, lasts: float) -> HandlerRow | None:
    """Give the handler to ``owner`` for ``lasts`` seconds; None if another server runs it."""
    row = get_handler(rows, name)
    if row is None:
        return None
    if row.owner not in {"", owner} and row.until > rows.now:
        return None
    mine = row._replace(owner=owner, until=rows.now + lasts)
    put_handler(rows, name, mine)
    return mine


def own_handler(rows: Rows, name: str, owner: str) -> HandlerRow | None:
    """Return the row if ``owner`` still runs the handler, even after its lease if nobody took it since."""
    row = get_handler(rows, name)
    return row if row is not None and row.owner == owner else None
