"""Rows of briefings: each reader's delivery in progress, and the last confirmed one.

A reader is an agent; all humans are one reader, because they share an inbox.
"""

from __future__ import annotations

from itertools import islice

from dibs.core.talk.mail import HUMANS
from dibs.services.state.keys import BRIEFED, OFFER
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows


class Briefed(Record):
    """The last briefing that a reader received."""

    number: int = 0
    at: float = 0.0
    #: A digest of the whole state, and the lines that the reader knows.
    digest: str = ""
    items: dict[str, str] = {}  # noqa: RUF012 - a default of a record, never changed
    #: The newest ledger entry at that time.
    seq: int = 0
    mode: str = ""
    #: When the reader's session started: a later session with the same name knows nothing.
    life: float = 0.0


class Offer(Record):
    """A delivery in progress; it counts as delivered once its reader confirms it."""

    #: What to record once it is confirmed.
    briefed: Briefed
    text: str
    #: The messages in it, each with the inboxes that it leaves.
    mail: dict[str, list[str]]
    left: int
    #: Until when no other process may take it over.
    until: float = 0.0


def reader_of(caller: Caller) -> str:
    """Return the reader name for deliveries to ``caller``."""
    return HUMANS if caller.human else caller.id


def get_offer(rows: Rows, reader: str) -> Offer | None:
    """Return the delivery in progress."""
    value = rows.txn.get(OFFER + reader)
    if value is None:
        return None
    record = decode(value)
    return Offer(**{**record, "briefed": Briefed(**record["briefed"])})


def put_offer(rows: Rows, reader: str, offer: Offer) -> None:
    """Start a delivery, or take over an unconfirmed one."""
    record = {**offer._asdict(), "briefed": offer.briefed._asdict()}
    rows.txn.put(OFFER + reader, encode(record))


def get_briefed(rows: Rows, reader: str) -> Briefed:
    """Return the last confirmed delivery; its number is 0 if there was none."""
    value = rows.txn.get(BRIEFED + reader)
    return Briefed() if value is None else Briefed(**decode(value))


def put_briefed(rows: Rows, reader: str, briefed: Briefed) -> None:
    """Record a delivery as confirmed, and end it."""
    rows.txn.put(BRIEFED + reader, encode(briefed._asdict()))
    rows.txn.delete(OFFER + reader)


def forget_outlived(rows: Rows, keep: float, most: int) -> None:
    """Delete some rows of readers that have ended and received nothing for ``keep`` seconds."""
    for key in list(islice(outlived(rows, keep), most)):
        rows.txn.delete(key)


def outlived(rows: Rows, keep: float) -> Iterator[str]:
    """Yield the rows that can be deleted."""
    for prefix, moment in ((OFFER, "until"), (BRIEFED, "at")):
        for key, value in rows.txn.scan((prefix, "")):
            reader = key.removeprefix(prefix)
            if reader == HUMANS or rows.beat(reader) is not None:
                continue
            if decode(value)[moment] + keep <= rows.now:
                yield key
