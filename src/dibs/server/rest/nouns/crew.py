"""The crew: the agents that the supervisor runs. A caller names roles; commands come from ``crew.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.crew import control
from dibs.server.rest.routes import ApiRoute, Body, Call, Name, NoBody, Text
from dibs.server.security.identity import TokenScope
from dibs.shapes import crew as shapes

if TYPE_CHECKING:
    from dibs.crew.control import CrewOverview

#: How much output one request returns at most.
_MOST_OUTPUT = 262_144


class CrewQuery(Body, frozen=True):
    """Which agents to show."""

    all: Annotated[bool, Meta(description="include agents that ended")] = False


class SpawnBody(Body, frozen=True):
    """An agent to start."""

    role: Annotated[Name, Meta(description="a role of crew.toml; by default, the first")] = ""
    task: Annotated[Name, Meta(description="a task that it is started for")] = ""


class EndBody(Body, frozen=True):
    """Agents to stop or to restart; without names, all of them."""

    agents: Annotated[list[Name], Meta(max_length=100)] = []
    reason: Text = ""


class LimitBody(Body, frozen=True):
    """How many agents the crew may have."""

    limit: Annotated[int, Meta(ge=1, le=20)]


class OutputQuery(Body, frozen=True):
    """Which part of the output to show; by default, its end."""

    offset: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1, le=_MOST_OUTPUT)] = 65_536
    file: Annotated[
        int, Meta(ge=0, description="from the last answer: the log may be replaced")
    ] = 0


def _shape(found: CrewOverview) -> Any:
    return shapes.crew(
        found.state, found.config, found.limit, found.members, found.tasks, found.waiting,
        supervisor=True,
    )  # fmt: skip


def overview(call: Call, body: CrewQuery) -> Any:
    """Return the crew: its agents, roles, limit, and what waits."""
    return _shape(control.overview(call.project, ended=body.all))


def show(call: Call, _: NoBody) -> Any:
    """Return one agent with its crashes and the end of its output."""
    found = control.details(call.project, call.path["id"])
    return {
        "member": shapes.member(found.member, found.task),
        "crashes": [shapes.crash(one) for one in found.crashes],
        "output": found.output,
    }


def logs(call: Call, body: OutputQuery) -> Any:
    """Return a part of an agent's output."""
    part = control.output(call.project, call.path["id"], body.offset, body.limit, body.file)
    return {"agent": call.path["id"], **part._asdict()}


def up(call: Call, _: NoBody) -> Any:
    """Put ``crew.toml`` in force, and let the crew work."""
    return _shape(control.up(call.project, call.caller))


def spawn(call: Call, body: SpawnBody) -> Any:
    """Start an agent."""
    return {"member": shapes.member(control.spawn(call.project, call.caller, body.role, body.task))}


def stop(call: Call, body: EndBody) -> Any:
    """Stop agents and their subagents."""
    bound = call.identity.scope < TokenScope.HUMAN
    agents = body.agents or ([call.caller.id] if bound else [])
    found = control.stop(call.project, call.caller, agents, body.reason)
    return {"stopped": [shapes.member(one) for one in found]}


def restart(call: Call, body: EndBody) -> Any:
    """Stop agents, and start them again with their tasks and worktrees."""
    found = control.stop(call.project, call.caller, body.agents, body.reason, again=True)
    return {"restarted": [shapes.member(one) for one in found]}


def limit(call: Call, body: LimitBody) -> Any:
    """Change how many agents the crew may have."""
    return _shape(control.scale(call.project, call.caller, body.limit))


def pause(call: Call, _: NoBody) -> Any:
    """Assign no more tasks; running turns go on."""
    return _shape(control.pause(call.project, call.caller, paused=True))


def resume(call: Call, _: NoBody) -> Any:
    """Assign tasks again."""
    return _shape(control.pause(call.project, call.caller, paused=False))


ROUTES = (
    ApiRoute(
        "GET", "/crew", "crew.show", "Show the crew: agents, roles, limit, and waiting tasks",
        "crew ls", overview, CrewQuery, TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/crew/up", "crew.up", "Put crew.toml in force and let the crew work",
        "crew up", up, scope=TokenScope.HUMAN,
    ),
    ApiRoute(
        "POST", "/crew/spawn", "crew.spawn", "Start an agent", "crew spawn", spawn, SpawnBody,
    ),
    ApiRoute(
        "POST", "/crew/stop", "crew.stop", "Stop agents and their subagents, or the whole crew",
        "crew stop", stop, EndBody,
    ),
    ApiRoute(
        "POST", "/crew/restart", "crew.restart", "Stop agents and start them again",
        "crew restart", restart, EndBody, TokenScope.HUMAN,
    ),
    ApiRoute(
        "POST", "/crew/limit", "crew.scale", "Change how many agents the crew may have",
        "crew scale", limit, LimitBody, TokenScope.HUMAN,
    ),
    ApiRoute(
        "POST", "/crew/pause", "crew.pause", "Assign no more tasks", "crew pause", pause,
        scope=TokenScope.HUMAN,
    ),
    ApiRoute(
        "POST", "/crew/resume", "crew.resume", "Assign tasks again", "crew resume", resume,
        scope=TokenScope.HUMAN,
    ),
    ApiRoute(
        "GET", "/crew/{id}", "crew.details", "Show an agent of the crew, its crashes, and its output",
        "crew show", show, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/crew/{id}/log", "crew.logs", "Show the output of an agent", "crew logs", logs,
        OutputQuery, TokenScope.READ,
    ),
)  # fmt: skip
