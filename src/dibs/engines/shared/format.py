"""The format of all stores; short because every engine needs it and nothing else with it."""

from __future__ import annotations

from dibs.errors import Misconfigured

#: A store of another format is refused; nothing is converted.
FORMAT = 3


def other_format(place: object, number: object) -> Misconfigured:
    """Return the error for a store with the format of another version of Dibs."""
    return Misconfigured(
        f"{place} has format {number}, but this version of Dibs uses format {FORMAT}",
        code="STORE_FORMAT",
        field="engine",
        hint="to set that store aside and start a new one, a human runs: dibs init --new-store",
    )
