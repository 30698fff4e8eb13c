"""How a call to a server fails; short because engines share only this."""

from __future__ import annotations

from dibs.errors import Unavailable, Unknown


class NotSent(Exception):
    """A command had no effect: it was never sent, or the server refused it as a whole."""


class Cut(Exception):
    """The connection ended between a command and its reply."""


def busy(place: object) -> Unavailable:
    """Return the error for a store that others kept changing for the whole timeout."""
    return Unavailable(
        f"timed out: other processes kept {place} busy",
        code="STORE_BUSY",
        hint="try again",
    )


def unknown(place: object, why: str) -> Unknown:
    """Return the error for a write whose outcome is unknown."""
    return Unknown(
        f"it is unknown whether {place} applied the change: {why}",
        hint="try again, with the same --request-id if you used one",
    )
