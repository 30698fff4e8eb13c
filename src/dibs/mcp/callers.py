"""Identify the agent that calls a tool; it is never a human, and never taken from an argument.

Over standard streams, one process serves one agent, named by ``DIBS_AGENT``, by the session that started the
server, or after its client. Over HTTP, ``dibs serve`` knows the agent of each token; a human's token names
one in a header.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dibs.core.claims.agents import Caller
from dibs.core.text.names import AGENT_ID_CHARACTERS, check_agent_id
from dibs.errors import BadInput, NotAllowed
from dibs.local.identity import acting_agent, host
from dibs.services.claims.callers import caller_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp.server.context import ServerRequestContext

    from dibs.project.project import Project

#: The headers that name a request's agent and its working tree.
AGENT_HEADER, TREE_HEADER = "dibs-agent", "dibs-worktree"
#: The scope key of the agent that a token is limited to.
BOUND = "dibs.bound"
#: The scope key that is set when the client has disconnected.
GONE = "dibs.gone"
_CLIENT_MAX, _SESSION_MAX = 30, 8


class Named(NamedTuple):
    """A request's agent and working tree."""

    caller: Caller
    tree: str = ""


def of_process(
    ctx: ServerRequestContext[Any, Any], environ: Mapping[str, str], project: Project
) -> Named:
    """Return the agent that this process serves; it can change with the session."""
    state = project.place.repository.state
    identity = acting_agent(None, environ, state)
    if not identity.human:
        return Named(caller_of(project.store, identity, state, host=host()))
    return Named(Caller(f"mcp-{client_of(ctx)}-{os.getppid()}", "agent", host()))


def of_request(ctx: ServerRequestContext[Any, Any]) -> Named:
    """Return the agent that an HTTP request names, or that its token is bound to."""
    request = ctx.request
    headers = request.headers if request is not None else {}
    bound = request.scope.get(BOUND, "") if request is not None else ""
    given = headers.get(AGENT_HEADER, "")
    if given and bound and given != bound:
        raise NotAllowed(
            f"the token belongs to {bound}, but the request names {clean_name(given)}",
            code="NOT_YOU",
            field="Dibs-Agent",
            hint="omit the header, or use that agent's token",
        )
    name = given or bound or _session_name(ctx, headers)
    return Named(Caller(_checked(name), "agent", host()), headers.get(TREE_HEADER, ""))


def _session_name(ctx: ServerRequestContext[Any, Any], headers: Mapping[str, str]) -> str:
    """Return an agent id made of the client and the session; a request without a session has none."""
    session = clean_name(headers.get("mcp-session-id", ""))[:_SESSION_MAX]
    if not session:
        raise BadInput(
            "the request does not name its agent",
            code="NO_CALLER",
            field="Dibs-Agent",
            hint="send the header Dibs-Agent with every request",
        )
    return f"mcp-{client_of(ctx)}-{session}"


def _checked(name: str) -> str:
    try:
        return check_agent_id(name)
    except BadInput as error:
        raise BadInput(
            error.message, code=error.code, field="Dibs-Agent", hint=error.hint
        ) from None


def has_hung_up(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client of an HTTP request has disconnected."""
    return ctx.request is not None and bool(ctx.request.scope.get(GONE))


def client_of(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the client's name as part of an agent id."""
    params = ctx.session.client_params
    return (
        clean_name(params.client_info.name if params is not None else "")[:_CLIENT_MAX] or "client"
    )


def clean_name(text: str) -> str:
    """Return text as part of an agent id."""
    letters = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in text[:200])
    return letters.strip("._-")
