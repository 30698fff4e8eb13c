"""Decide which agents a human's token or a process at the socket may name.

An agent with a token of its own acts with that token only, and a running session only from its own process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import NotAllowed
from dibs.server.security.authorize import caller_for
from dibs.server.security.identity import TokenScope
from dibs.services.claims.callers import check_tree
from dibs.services.guard.liveness import live_sessions

if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.server.projects import ServedProject
    from dibs.server.rest.routes import Call
    from dibs.server.security.identity import RequestIdentity
    from dibs.server.security.tokens import TokenStore


def check_named(
    identity: RequestIdentity,
    caller: Caller,
    served: ServedProject,
    tokens: TokenStore,
    *,
    field: str = "Dibs-Agent",
) -> None:
    """Refuse an agent that a request names, if only that agent itself may act as it."""
    named = caller.id
    if identity.named_by:
        check_tree(served.project().store, named, identity.named_by)
    if identity.scope < TokenScope.HUMAN or caller.human or named == identity.caller.id:
        return
    if any(
        row.agent == named and row.scope is TokenScope.AGENT and row.project in {"", served.id}
        for row in tokens.all()
    ):
        raise NotAllowed(
            f"{named} has a token of its own, and no other token can act as it",
            code="NOT_YOU",
            field=field,
            hint="use that token, or act as yourself: omit the name",
        )
    if served.project().store.look(lambda rows: live_sessions(rows, named)):
        raise NotAllowed(
            f"{named} is a running session, and only its own process can act as it",
            code="NOT_YOU",
            field=field,
            hint=f"act as yourself: omit the name; or end the session: dibs agent stop {named}",
        )


def caller_named(call: Call, named: str, field: str) -> Caller:
    """Return who acts: the agent that a field of the request names, if its sender may act as it."""
    assert call.served is not None
    caller = caller_for(call.identity, named, field)
    check_named(call.identity, caller, call.served, call.resident.tokens, field=field)
    return caller
