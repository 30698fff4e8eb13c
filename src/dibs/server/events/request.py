"""What a client asks for when it connects: its project, where to begin, and which events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dibs.core.claims.event_filters import EventFilter, event_filter
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

#: The parameters of ``/ws``.
PARAMETERS = ("project", "worktree", "after", "types", "agents", "paths")
#: No ledger has a number that is higher, and every engine can compare with it.
HIGHEST = 1 << 62
_LONGEST_NUMBER = 20


class Wanted(NamedTuple):
    """A request for events."""

    project: str
    #: Continue after this number; None for a snapshot.
    after: int | None
    filter: EventFilter


def wanted(query: QueryParams) -> Wanted:
    """Return what a request asks for; raise ``BadInput`` that names the parameter."""
    for name in query:
        if name not in PARAMETERS:
            meant = closest(name, list(PARAMETERS))
            hint = f"did you mean {meant}?" if meant else f"parameters: {', '.join(PARAMETERS)}"
            message = f"unknown parameter {quote(name[:80])}"
            raise BadInput(message, code="UNKNOWN_FIELD", field=name[:80], hint=hint)
    place = query.get("after")
    return Wanted(
        query.get("project", ""),
        None if place is None else _number(place),
        event_filter(_split(query, "types"), _split(query, "agents"), query.getlist("paths")),
    )


def _number(given: str) -> int:
    """Return the number of an entry as a client sends it; negative and very large ones are allowed."""
    if given.isascii() and len(given) <= _LONGEST_NUMBER:
        digits = given.removeprefix("-")
        if digits.isdecimal():
            return max(-1, min(int(given), HIGHEST))
    raise BadInput(
        "after is not the number of an entry",
        code="NUMBER",
        field="after",
        hint="use the seq of the last event that you have",
    )


def _split(query: QueryParams, name: str) -> list[str]:
    return [part for value in query.getlist(name) for part in value.split(",") if part]
