"""The history: what happened between two times, as spans, marks, and figures."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.errors import BadInput
from dibs.server.rest.routes import MOST_PATH, ApiRoute, Body, Call, Name
from dibs.server.security.identity import TokenScope
from dibs.services.history.service import MOST, SHOWN
from dibs.shapes import history as shapes

if TYPE_CHECKING:
    from dibs.core.patterns.pattern import Pattern


class TimelineQuery(Body, frozen=True):
    """Which part of the history."""

    since: Annotated[
        Name, Meta(description="a duration before now, a time, Unix time, or `all`")
    ] = "1d"
    until: Annotated[Name, Meta(description="the same; default: now")] = ""
    agent: Annotated[Name, Meta(description="only this agent's")] = ""
    path: Annotated[
        str, Meta(max_length=MOST_PATH, description="only what overlaps this path or glob")
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MOST, description="the most spans, and the most marks, of each sort")
    ] = SHOWN


def timeline(call: Call, body: TimelineQuery) -> Any:
    """Return spans, marks, and figures."""
    project = call.project
    found = project.history.timeline(
        body.since,
        body.until,
        agent=body.agent,
        paths=_meant(call, body.path) if body.path else (),
        most=body.limit,
    )
    return shapes.timeline(found, os.path.basename(project.place.repository.root))


def _meant(call: Call, path: str) -> list[Pattern]:
    """Return what a path may mean: a glob, and a file whose name has brackets or stars."""
    found = []
    with suppress(BadInput):
        found = call.patterns([path])
    return [*found, *call.patterns([path], literal=True)]


ROUTES = (
    ApiRoute(
        "GET", "/timeline", "timeline.show",
        "Return claims, waits, agents, tasks, and marks over time, with figures",
        "+timeline", timeline, TimelineQuery, TokenScope.READ,
    ),
)  # fmt: skip
