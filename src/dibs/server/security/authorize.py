"""Turn a token into an identity, and decide which project and which agent an identity may use.

An agent with a token of its own acts with that token only, and a running session only from its own process.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.core.claims.agents import HUMAN, Caller
from dibs.core.text.names import check_agent_id, printable
from dibs.errors import DibsError, NotAllowed
from dibs.local.identity import host, human_id
from dibs.local.people import in_other_home
from dibs.server.security.identity import RequestIdentity, TokenScope
from dibs.services.claims.callers import check_tree
from dibs.services.guard.liveness import live_sessions

if TYPE_CHECKING:
    from dibs.server.projects import Projects, ServedProject
    from dibs.server.rest.routes import Call
    from dibs.server.security.tokens import TokenRow, TokenStore

#: The header in which a human names an agent.
AGENT = "Dibs-Agent"


def identity_of(row: TokenRow) -> RequestIdentity:
    """Return whose a token is; nothing that a request says changes it."""
    if row.scope >= TokenScope.HUMAN:
        caller = Caller(row.agent or human_id(os.environ), HUMAN, host())
    else:
        caller = Caller(row.agent or f"reader-{row.id}", "agent", host())
    return RequestIdentity(caller, row.scope, row.project, row.id)


def served_project(
    projects: Projects, identity: RequestIdentity, wanted: str = ""
) -> ServedProject:
    """Return the project of a request: the one that it names, else the identity's, else the only one.

    An identity that is bound to a project learns nothing about others, not even whether they exist.
    """
    if not identity.project:
        found = projects.get(wanted)
        if identity.token and identity.scope >= TokenScope.HUMAN:
            _check_home(found)
        return found
    own = projects.get(identity.project)
    if wanted and wanted not in {own.id, own.root, own.name}:
        raise NotAllowed(
            f"the token is for the project {printable(own.name)}",
            code="NOT_YOU",
            field="project",
            hint="omit the parameter, or use a token for that project",
        )
    return own


def _check_home(project: ServedProject) -> None:
    """Refuse a human's token if this server has other tokens than that of the project's agents."""
    agent = in_other_home([project.state])
    if agent:
        raise NotAllowed(
            f"{agent} and this server have different home folders, so the token does not prove a human",
            code="TOKEN_SCOPE",
            hint="start the server with the same HOME and XDG_STATE_HOME as the agents",
        )


def caller_for(identity: RequestIdentity, named: str, field: str = AGENT) -> Caller:
    """Return who acts: the identity itself, or the agent that a human names in a field of the request."""
    if not named or named == identity.caller.id:
        return identity.caller
    if identity.scope < TokenScope.HUMAN:
        own = "omit the header" if field == AGENT else f"send {identity.caller.id} as {field}"
        raise NotAllowed(
            f"the {_proof(identity)} belongs to {identity.caller.id}",
            code="NOT_YOU",
            field=field,
            hint=f"{own}, or use that agent's token" if identity.token else own,
        )
    human = identity.caller
    return Caller(check_agent_id(named), "agent", human.host, by=human.id, by_human=True)


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


def _proof(identity: RequestIdentity) -> str:
    """Return what identifies the sender of a request; at the Unix socket, no token does."""
    return "token" if identity.token else "process"


def require(identity: RequestIdentity, needed: TokenScope) -> None:
    """Raise ``NotAllowed`` if an identity's scope is too small."""
    if identity.scope < needed:
        has, needs = identity.scope.name.lower(), needed.name.lower()
        new = "--agent NAME" if needed == TokenScope.AGENT else f"--scope {needs}"
        raise NotAllowed(
            f"this needs the scope {needs}, and the {_proof(identity)} has {has}",
            code="TOKEN_SCOPE",
            hint=f"a human creates a token: dibs token new {new}",
        )


def remember_project(projects: Projects, row: TokenRow) -> None:
    """Serve the project of a token, if it exists."""
    with suppress(DibsError, OSError):
        projects.add(row.folder)
