"""What a check finds and how much it matters; short because engines and the doctor share only this."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum


class Level(metaclass=TextEnum):
    """How much a finding matters."""

    OK = "ok"
    #: A promise holds only in part; the text says which.
    WARN = "warn"
    #: The engine cannot be used safely so.
    BAD = "bad"


class Finding(Record):
    """One thing that is so, and what follows from it."""

    level: str
    what: str
    text: str
