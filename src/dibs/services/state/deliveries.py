"""The rows of briefings: the one under way to each reader, and the last one that was delivered.

A reader is an agent; all humans are one reader, because they share a box.
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
    """What a reader was told last."""

    number: int = 0
    at: float = 0.0
    #: What the whole state was like, and which of its lines the reader knows.
    digest: str = ""
    items: dict[str, str] = {}  # noqa: RUF012 - a default of a record, never changed
    #: The newest entry of the ledger that was there.
    seq: int = 0
    mode: str = ""
    #: When the session began that was told: another one of the same name knows nothing.
    life: float = 0.0


class Offer(Record):
    """A delivery that is under way: whether it arrived is known when its reader confirms it."""

    #: What will be noted of it.
    briefed: Briefed
    text: str
    #: The messages in it, each with the boxes that it leaves.
    mail: dict[str, list[str]]
    left: int
    #: Until when whoever took it up is left alone with it.
    until: float = 0.0


def reader_of(caller: Caller) -> str:
    """Return under which name deliveries to ``caller`` are counted."""
    return HUMANS if caller.human else caller.id


def get_offer(rows: Rows, reader: str) -> Offer | None:
    """Return the delivery that is under way."""
    value = rows.txn.get(OFFER + reader)
    if value is None:
        return None
    record = decode(value)
    return Offer(**{**record, "briefed": Briefed(**record["briefed"])})


def put_offer(rows: Rows, reader: str, offer: Offer) -> None:
    """Begin a delivery, or take up one that nobody confirmed."""
    record = {**offer._asdict(), "briefed": offer.briefed._asdict()}
    rows.txn.put(OFFER + reader, encode(record))


def get_briefed(rows: Rows, reader: str) -> Briefed:
    """Return the last delivery that happened; its number is 0 if there was none."""
    value = rows.txn.get(BRIEFED + reader)
    return Briefed() if value is None else Briefed(**decode(value))


def put_briefed(rows: Rows, reader: str, briefed: Briefed) -> None:
    """Note that a delivery happened, and end it."""
    rows.txn.put(BRIEFED + reader, encode(briefed._asdict()))
    rows.txn.delete(OFFER + reader)


def forget_outlived(rows: Rows, keep: float, most: int) -> None:
    """Forget some of the rows of readers that have ended, once nothing was told to them for so long."""
    for key in list(islice(outlived(rows, keep), most)):
        rows.txn.delete(key)


def outlived(rows: Rows, keep: float) -> Iterator[str]:
    """Yield the rows that can be forgotten."""
    for prefix, moment in ((OFFER, "until"), (BRIEFED, "at")):
        for key, value in rows.txn.scan((prefix, "")):
            reader = key.removeprefix(prefix)
            if reader == HUMANS or rows.beat(reader) is not None:
                continue
            if decode(value)[moment] + keep <= rows.now:
                yield key
