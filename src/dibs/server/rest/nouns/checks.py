"""Settings, identity, patterns, and checks of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.core.patterns.pattern import overlap, parse
from dibs.core.text.urls import shown
from dibs.errors import NotFound
from dibs.guard.git.install import GitHooks
from dibs.install.inspect.checkup import check_up
from dibs.local.identity import BEARER, FLAG, PROCESS
from dibs.server.rest.routes import ApiRoute, Body, Call, NoBody, PathText
from dibs.server.security.identity import TokenScope
from dibs.services.state.measure import inspected
from dibs.shapes import checks as shapes

if TYPE_CHECKING:
    from dibs.project.project import Project

#: The source of an identity that comes from the Unix socket.
_SOCKET = "socket"


def settings(call: Call, _: NoBody) -> Any:
    """Return all settings, or one, each with its origin."""
    place = call.project.place
    return shapes.settings(place.repository, place.loaded, call.path.get("key", ""))


def engine(call: Call, _: NoBody) -> Any:
    """Check that the store is safe to use, and measure its speed."""
    project = call.project
    found, measured = inspected(project.engine)
    return shapes.engine(shown(project.config.engine), found, measured)


def doctor(call: Call, _: NoBody) -> Any:
    """Check agents, guards, the board, the store, and git."""
    return check_up(call.project, call.caller).shape()


def repair(call: Call, _: NoBody) -> Any:
    """Repair what can be repaired, then check."""
    return check_up(call.project, call.caller, fix=True).shape()


def git_status(call: Call, _: NoBody) -> Any:
    """Return which git hooks are installed, and whether they work."""
    project = call.project
    repository = project.place.repository
    if not repository.common:
        raise NotFound("this is not a git repository", code="NO_REPO", hint="create one: git init")
    project.store.now()  # raises if the store does not answer
    return shapes.git_hooks(GitHooks(repository.common, repository.state).look(), "")


def whoami(call: Call, _: NoBody) -> Any:
    """Return who the server thinks you are, and why."""
    project = _only_project(call)
    own, acting = call.identity, call.caller
    header = acting.id if acting.id != own.caller.id else ""
    at_socket = not own.token
    sources = {
        FLAG: header,
        BEARER: own.token,
        PROCESS: own.caller.id if at_socket and not own.caller.human else "",
        _SOCKET: own.caller.id if at_socket and own.caller.human else "",
    }
    found = shapes.identity(
        acting.id,
        human=acting.human,
        role=None if project is None else _role(project, acting.id),
        project=None if project is None else project.place.repository.root,
        source=next(name for name, value in sources.items() if value),
        sources=sources,
    )
    row = next((one for one in call.resident.tokens.all() if one.id == own.token), None)
    return {**found, "scope": own.scope.name.lower(), "expires": row and row.expires}


def _only_project(call: Call) -> Project | None:
    """Return the project of the identity, or else the only one."""
    known = call.resident.projects.all()
    if call.identity.project:
        known = [one for one in known if one.id == call.identity.project]
    return known[0].project() if len(known) == 1 else None


def _role(project: Project, agent: str) -> str | None:
    try:
        return project.agents.show(agent)[0].agent.role
    except NotFound:
        return None


class ExplainQuery(Body, frozen=True):
    """Two patterns."""

    a: PathText
    b: PathText
    case_sensitive: Annotated[bool, Meta(description="README and readme are different")] = False


def explain(_: Call, body: ExplainQuery) -> Any:
    """Return whether two patterns overlap, and a path that both match."""
    one, other = (parse(text, fold_case=not body.case_sensitive) for text in (body.a, body.b))
    return shapes.overlapping(one, other, overlap(one, other))


ROUTES = (
    ApiRoute(
        "GET", "/settings", "settings.list", "Show the settings and where each comes from",
        "config", settings, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/settings/{key}", "settings.show", "Show one setting and where it comes from",
        "config", settings, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/engine", "engine.check", "Check that the store is safe to use",
        "engine check", engine, waits=True,
    ),
    ApiRoute(
        "GET", "/doctor", "doctor.check", "Find problems", "doctor", doctor, scope=TokenScope.READ,
        waits=True,
    ),
    ApiRoute(
        "POST", "/doctor", "doctor.repair", "Repair what can be repaired, then check",
        "doctor", repair, scope=TokenScope.HUMAN, waits=True,
    ),
    ApiRoute(
        "GET", "/git", "git.status", "Show which git hooks are installed and whether they work",
        "git status", git_status, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/whoami", "whoami.show", "Show who the server thinks you are, and why",
        "whoami", whoami, scope=TokenScope.READ, project=False,
    ),
    ApiRoute(
        "GET", "/explain", "explain.show", "Show whether two patterns overlap, and where",
        "explain", explain, ExplainQuery, scope=TokenScope.READ, project=False,
    ),
)  # fmt: skip
