"""What a client asks for when it connects: its project, where to begin, and which events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dibs.core.claims.event_filters import EventFilter, event_filter
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import Headers, QueryParams

#: The parameters of ``/ws`` and ``/events``.
PARAMETERS = ("project", "worktree", "after", "types", "agents", "paths")
RESUME_HEADER = "last-event-id"
#: No ledger has a number that is higher, and every engine can compare with it.
HIGHEST = 1 << 62
_LONGEST_NUMBER = 20


class Wanted(NamedTuple):
    """A request for events."""

    project: str
    #: Continue after this number; None for a snapshot.
    after: int | None
    filter: EventFilter


def wanted(query: QueryParams, headers: Headers) -> Wanted:
    """Return what a request asks for; raise ``BadInput`` that names the parameter."""
    for name in query:
        if name not in PARAMETERS:
            meant = closest(name, list(PARAMETERS))
            hint = f"did you mean {meant}?" if meant else f"parameters: {', '.join(PARAMETERS)}"
            message = f"unknown parameter {quote(name[:80])}"
            raise BadInput(message, code="UNKNOWN_FIELD", field=name[:80], hint=hint)
    # A browser that reconnects sends the header, with the parameter of its first request.
    place = headers.get(RESUME_HEADER) or query.get("after")
    return Wanted(
        query.get("project", ""),
        None if place is None else number(place),
        event_filter(_split(query, "types"), _split(query, "agents"), query.getlist("paths")),
    )


def number(given: object) -> int:
    """Return the number of an entry as a client sends it; negative and very large ones are allowed."""
    if isinstance(given, int) and not isinstance(given, bool):
        return max(-1, min(given, HIGHEST))
    if isinstance(given, str) and given.isascii() and len(given) <= _LONGEST_NUMBER:
        digits = given.removeprefix("-")
        if digits.isdecimal():
            return max(-1, min(int(given), HIGHEST))
    raise BadInput(
        "after is not the number of an entry",
        code="NUMBER",
        field="after",
        hint="use the seq of the last event that you have",
    )


def texts(message: Mapping[str, object], field: str) -> list[str]:
    """Return a list of texts from a message."""
    found = message.get(field, [])
    values = [found] if isinstance(found, str) else found
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise BadInput(f"{field} is not a list of texts", code="BAD_INPUT", field=field)
    return values


def _split(query: QueryParams, name: str) -> list[str]:
    return [part for value in query.getlist(name) for part in value.split(",") if part]
