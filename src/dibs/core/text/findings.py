"""Findings of a check and their severity; short because engines and the doctor share only this."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum


class Level(metaclass=TextEnum):
    """The severity of a finding."""

    OK = "ok"
    #: A guarantee is limited; the text says how.
    WARN = "warn"
    #: The engine is not safe to use like this.
    BAD = "bad"


class Finding(Record):
    """One finding and its consequence."""

    level: str
    what: str
    text: str
