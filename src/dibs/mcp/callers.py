"""Who calls a tool: an agent, never a human, and never whoever an argument names.

Over standard streams one process serves one agent, named by ``DIBS_AGENT``, by the session in which the
server runs, or else after its client. Over HTTP each request names its agent in a header; a bearer token may
be good for one agent only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dibs.core.claims.agents import Caller
from dibs.core.text.names import AGENT_ID_CHARACTERS, check_agent_id
from dibs.errors import BadInput, NotAllowed
from dibs.local.identity import acting_agent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp.server.context import ServerRequestContext

#: The header by which a client over HTTP says which agent it speaks for, and where that agent works.
AGENT_HEADER, TREE_HEADER = "dibs-agent", "dibs-worktree"
#: Where the front of the HTTP server puts the agent that a token is good for.
BOUND = "dibs.bound"
#: Where it notes that the client has hung up, so that nobody reads the answer.
GONE = "dibs.gone"
_CLIENT_MAX, _SESSION_MAX = 30, 8


class Named(NamedTuple):
    """The agent of a request, and the working tree that it named."""

    caller: Caller
    tree: str = ""


def host() -> str:
    """Return this machine's name."""
    return os.uname().nodename if hasattr(os, "uname") else ""


def of_process(
    ctx: ServerRequestContext[Any, Any], environ: Mapping[str, str], state: str
) -> Named:
    """Return the one agent that this process serves; asked anew each time, for a session may change."""
    identity = acting_agent(None, environ, state)
    if not identity.human:
        return Named(Caller(identity.id, "agent", host()))
    return Named(Caller(f"mcp-{client_of(ctx)}-{os.getppid()}", "agent", host()))


def of_request(ctx: ServerRequestContext[Any, Any]) -> Named:
    """Return the agent that an HTTP request names, or that its token is bound to."""
    request = ctx.request
    headers = request.headers if request is not None else {}
    bound = request.scope.get(BOUND, "") if request is not None else ""
    given = headers.get(AGENT_HEADER, "")
    if given and bound and given != bound:
        raise NotAllowed(
            f"this token is {bound}'s, and the request says it is {clean_name(given)}",
            code="NOT_YOU",
            field="Dibs-Agent",
            hint="leave the header out, or use that agent's own token",
        )
    name = given or bound or _session_name(ctx, headers)
    return Named(Caller(_checked(name), "agent", host()), headers.get(TREE_HEADER, ""))


def _session_name(ctx: ServerRequestContext[Any, Any], headers: Mapping[str, str]) -> str:
    """Name an agent after its client and its session; without a session nothing tells two apart."""
    session = clean_name(headers.get("mcp-session-id", ""))[:_SESSION_MAX]
    if not session:
        raise BadInput(
            "the request does not say which agent calls",
            code="NO_CALLER",
            field="Dibs-Agent",
            hint="send a header Dibs-Agent with every request",
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
    """Tell whether nobody can read the answer to a request over HTTP any more."""
    return ctx.request is not None and bool(ctx.request.scope.get(GONE))


def client_of(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the client's own name, as far as it can be part of an id."""
    params = ctx.session.client_params
    return (
        clean_name(params.client_info.name if params is not None else "")[:_CLIENT_MAX] or "client"
    )


def clean_name(text: str) -> str:
    """Return text as a part of an agent's id."""
    letters = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in text[:200])
    return letters.strip("._-")
