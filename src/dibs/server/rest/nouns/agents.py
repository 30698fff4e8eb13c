"""Agents, and the state of a project at one moment."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.core.claims.agents import Agent
from dibs.crew.control import stop_agent
from dibs.errors import BadUsage
from dibs.server.rest.routes import (
    Answer,
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    NoBody,
    Number,
    Text,
)
from dibs.server.security.authorize import caller_for, caller_named
from dibs.server.security.identity import TokenScope
from dibs.shapes import claims as shapes


class AgentsQuery(Listing, frozen=True):
    """Which agents to list."""

    all: Annotated[bool, Meta(description="include agents that ended")] = False


class StatusQuery(Body, frozen=True):
    """Whose part of the project to show."""

    agent: Name = ""


class JoinBody(Body, frozen=True):
    """A description of an agent."""

    id: Annotated[Name, Meta(description="for humans: which agent; by default, the caller")] = ""
    name: Text = ""
    role: Name = ""
    parent: Name = ""
    pid: Number = 0
    model: Text = ""
    task: Text = ""
    host: Text = ""


class ReportBody(Body, frozen=True):
    """What changed about an agent."""

    status: Name | None = None
    task: Text | None = None
    model: Text | None = None
    context: Annotated[float, Meta(description="context used, from 0 to 1")] | None = None
    name: Text | None = None
    role: Name | None = None
    note: Text = ""


class LeaveBody(Body, frozen=True):
    """How an agent ends its session."""

    status: Annotated[Name, Meta(description="exited, completed, or failed")] = "exited"
    note: Text = ""


class StopBody(Body, frozen=True):
    """Why an agent is stopped."""

    reason: Text = ""


def listed(call: Call, body: AgentsQuery) -> Any:
    """Return the agents."""
    rows = [shapes.agent(one) for one in call.project.agents.all(ended=body.all)]
    return call.page(body, "agents", rows, key=lambda one: one["id"])


def show(call: Call, _: NoBody) -> Any:
    """Return one agent."""
    seen, lost = call.project.agents.show(call.path["id"])
    held, waiting = call.project.claims.all(seen.agent.id)
    return shapes.shown_agent(seen, held, waiting, lost)


def _seen(call: Call, agent: str) -> Any:
    seen, _ = call.project.agents.show(agent)
    return {"agent": shapes.agent(seen)}


def join(call: Call, body: JoinBody) -> Any:
    """Register an agent."""
    caller = caller_named(call, body.id, "id") if body.id else call.caller
    agent = Agent(
        caller.id, body.name, body.role or caller.role, body.parent, body.host or caller.host,
        body.pid, model=body.model, task=body.task,
    )  # fmt: skip
    return _seen(call, call.project.agents.join(agent, caller).id)


def report(call: Call, body: ReportBody) -> Any:
    """Update what others see of an agent."""
    caller = caller_named(call, call.path["id"], "id")
    names = ("status", "task", "model", "context", "name", "role")
    given = {name: getattr(body, name) for name in names}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes and not body.note:
        raise BadUsage("nothing to report", hint="set at least one field")
    return _seen(call, call.project.agents.report(caller, note=body.note, **changes).id)


def beat(call: Call, _: NoBody) -> Any:
    """Renew all claims of an agent; 409 if one was lost."""
    caller = caller_named(call, call.path["id"], "id")
    found = call.project.holdings.renew(caller)
    return Answer(409 if found.lost else 200, shapes.renewed(found))


def leave(call: Call, body: LeaveBody) -> Any:
    """End a session."""
    caller = caller_for(call.identity, call.path["id"], "id")
    gone = call.project.agents.leave(caller, status=body.status, note=body.note)
    return {"agent": caller.id, "released": shapes.claims(gone)}


def stop(call: Call, body: StopBody) -> Any:
    """Stop an agent and its subagents."""
    return {"stopped": stop_agent(call.project, call.caller, call.path["id"], body.reason)}


def overview(call: Call, body: StatusQuery) -> Any:
    """Return agents, claims, and the queue."""
    return shapes.overview(call.project.overview(body.agent))


ROUTES = (
    ApiRoute(
        "GET", "/status", "status.show", "Show agents, claims, and the queue",
        "status", overview, StatusQuery, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/agents", "agents.list", "List agents and people",
        "agent ls", listed, AgentsQuery, TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/agents", "agents.join", "Register an agent; safe to repeat",
        "agent join", join, JoinBody,
    ),
    ApiRoute(
        "GET", "/agents/{id}", "agents.show", "Show an agent, its claims, and what it lost",
        "agent show", show, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/agents/{id}/report", "agents.report", "Report an agent's status, task, or model",
        "agent report", report, ReportBody,
    ),
    ApiRoute(
        "POST", "/agents/{id}/beat", "agents.beat", "Renew the claims of an agent (heartbeat)",
        "agent beat", beat, statuses=(200, 409),
    ),
    ApiRoute(
        "POST", "/agents/{id}/leave", "agents.leave", "End a session and release its claims",
        "agent leave", leave, LeaveBody,
    ),
    ApiRoute(
        "POST", "/agents/{id}/stop", "agents.stop", "Stop an agent and its subagents",
        "agent stop", stop, StopBody,
    ),
)  # fmt: skip
