"""Identify the agent that calls a tool; it is never a human, and never taken from an argument.

One process serves one agent, named by ``DIBS_AGENT``, by the session that started the server, or after its
client.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.core.claims.agents import Caller
from dibs.core.text.names import AGENT_ID_CHARACTERS
from dibs.local.identity import acting_agent, host
from dibs.services.claims.callers import caller_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp.server.context import ServerRequestContext

    from dibs.project.project import Project

_CLIENT_MAX = 30


def of_process(
    ctx: ServerRequestContext[Any, Any], environ: Mapping[str, str], project: Project
) -> Caller:
    """Return the agent that this process serves; it can change with the session."""
    state = project.place.repository.state
    identity = acting_agent(None, environ, state)
    if not identity.human:
        return caller_of(project.store, identity, state, host=host())
    return Caller(f"mcp-{client_of(ctx)}-{os.getppid()}", "agent", host())


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
