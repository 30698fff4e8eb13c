"""The merge queue, and forecasts of conflicts."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.api.client import Refused
from dibs.core.text.names import check_branch
from dibs.errors import BadInput
from dibs.server.rest.nouns.places import check_command
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Name, Span, Text
from dibs.server.security.identity import TokenScope
from dibs.services.merging.queue import QueueTimeout
from dibs.services.merging.values import MergeRequest
from dibs.shapes import forecast as forecasts
from dibs.shapes import merging

Names = Annotated[list[Name], Meta(max_length=1_000)]


class MergeBody(Body, frozen=True):
    """Which branches to merge, and how."""

    branches: Annotated[Names, Meta(description="default: your own branch")] = []
    into: Annotated[Name, Meta(description="default: [merge] into")] = ""
    all: Annotated[bool, Meta(description="every agent's branch that has new commits")] = False
    test: Annotated[Text | None, Meta(description="test command (humans only); empty for none")] = (
        None
    )
    wait: Annotated[Span, Meta(description="wait in the queue at most this long")] = "10m"
    message: Text = ""
    allow_unclaimed: Annotated[bool, Meta(description="humans only")] = False
    dry_run: bool = False


def merge(call: Call, body: MergeBody) -> Any:
    """Merge agents' branches into the integration branch, one at a time."""
    if body.all and body.branches:
        raise BadInput("give either all or branches", code="USAGE", field="branches")
    request = MergeRequest(
        tuple(body.branches),
        check_branch(body.into) if body.into else "",
        body.all,
        check_command(call, body.test, "test"),
        body.wait,
        body.message,
        body.allow_unclaimed,
        body.dry_run,
    )
    try:
        report = call.project.merges.merge(call.caller, request)
    except QueueTimeout as taken:
        raise Refused(taken.answer) from None
    return Answer(200 if report.fine else 409, merging.report(report))


class MergesQuery(Body, frozen=True):
    """How many results."""

    limit: Annotated[int, Meta(ge=1, le=500, description="the most results, newest first")] = 50


def listed(call: Call, body: MergesQuery) -> Any:
    """Return running and waiting merges, and the last results."""
    return merging.overview(call.project.merges.overview(body.limit))


class ForecastQuery(Body, frozen=True):
    """Whose conflicts, and with which branch."""

    agent: Annotated[Names, Meta(description="only conflicts of these agents")] = []
    base: Annotated[Name, Meta(description="default: [merge] into")] = ""
    text: Annotated[bool, Meta(description="include the conflicting lines of both sides")] = False


def look(call: Call, body: ForecastQuery) -> Any:
    """Return which work would conflict if it were merged now."""
    base = check_branch(body.base) if body.base else ""
    return forecasts.shape(call.project.forecasts.once(body.agent, base, lines=body.text))


def warn(call: Call, body: ForecastQuery) -> Any:
    """Return which work would conflict, and notify both sides of each new conflict."""
    base = check_branch(body.base) if body.base else ""
    service = call.project.forecasts
    found = service.once(body.agent, base, lines=body.text)
    service.warn(call.caller, found)
    return forecasts.shape(found)


ROUTES = (
    ApiRoute(
        "GET", "/merges", "merges.list", "List running and waiting merges, and the last results",
        "running:held_claim* waiting:queued_ticket* results:entry*", listed, MergesQuery,
        TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/merges", "merges.create", "Merge branches in turn, after scope and tests pass",
        "merge", merge, MergeBody, statuses=(200, 409), waits=True,
    ),
    ApiRoute(
        "GET", "/forecast", "forecast.show", "Show what would conflict if merged now",
        "forecast", look, ForecastQuery, scope=TokenScope.READ, waits=True,
    ),
    ApiRoute(
        "POST", "/forecast", "forecast.warn",
        "Show what would conflict if merged now, and notify the agents",
        "forecast", warn, ForecastQuery, waits=True,
    ),
)  # fmt: skip
