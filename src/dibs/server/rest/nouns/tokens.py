"""Tokens of the server, and links that sign a browser in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from dibs.core.claims.agents import check_own_id
from dibs.core.text.durations import check_span
from dibs.core.text.names import check_agent_id
from dibs.errors import BadInput
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Listing, NoBody, Span
from dibs.server.security.authorize import served_project
from dibs.server.security.identity import TokenScope
from dibs.server.security.login import link_base
from dibs.server.security.tokens import shape

_SHORTEST, _LONGEST = 1.0, 10 * 365 * 86_400.0


class NewTokenBody(Body, frozen=True):
    """A token to create."""

    scope: Literal["read", "agent", "human", "admin"] = "read"
    agent: Annotated[str, Meta(max_length=64, description="needed for the scope agent")] = ""
    for_project: Annotated[
        str, Meta(max_length=4096, description="the agent's project: id, name, or folder")
    ] = ""
    expires: Annotated[
        Span | None, Meta(description="a span such as 8h; never if it is missing")
    ] = None


def listed(call: Call, body: Listing) -> Any:
    """Return the tokens that are valid."""
    rows = [shape(row) for row in call.resident.tokens.all()]
    return call.page(body, "tokens", rows, key=lambda row: (row["created"], row["id"]))


def create(call: Call, body: NewTokenBody) -> Any:
    """Create a token; the answer is the only one that has it."""
    scope = TokenScope[body.scope.upper()]
    if (scope is TokenScope.AGENT) != bool(body.agent):
        raise BadInput("the scope agent, and no other, has an agent", field="agent")
    served = None
    if body.agent:
        check_own_id(check_agent_id(body.agent), human=False)
        served = served_project(call.resident.projects, call.identity, body.for_project)
    span = body.expires
    lifetime = (
        None if span is None
        else check_span(span, _SHORTEST, _LONGEST, field="expires", code="SPAN")
    )  # fmt: skip
    token, row = call.resident.tokens.new(
        scope,
        agent=body.agent,
        project=served.id if served else "",
        folder=served.root if served else "",
        lifetime=lifetime,
    )
    return Answer(201, {"token": token, **shape(row)})


def revoke(call: Call, _: NoBody) -> Any:
    """Revoke a token, which is refused from now on."""
    return shape(call.resident.tokens.revoke(call.path["id"]))


def login(call: Call, _: NoBody) -> Any:
    """Create a link that signs one browser in, within a minute."""
    base = link_base(call.resident.url, call.resident.options.names)
    url, expires = call.resident.logins.new(base, call.identity.scope)
    return Answer(201, {"url": url, "expires": expires})


# keeps_ids: an answer that contains a secret must not be stored for a repeated request.
ROUTES = (
    ApiRoute("GET", "/tokens", "tokens.list", "List the tokens that are valid", "token ls", listed,
          Listing, scope=TokenScope.ADMIN, project=False),
    ApiRoute("POST", "/tokens", "tokens.create", "Create a token, which is shown once", "token new",
          create, NewTokenBody, scope=TokenScope.ADMIN, statuses=(201,), project=False,
          keeps_ids=True),
    ApiRoute("DELETE", "/tokens/{id}", "tokens.revoke", "Revoke a token", "token revoke", revoke,
          scope=TokenScope.ADMIN, project=False),
    ApiRoute("POST", "/login", "login.create", "Create a link that signs a browser in, once",
          "token login", login, scope=TokenScope.HUMAN, statuses=(201,), project=False,
          keeps_ids=True),
)  # fmt: skip
