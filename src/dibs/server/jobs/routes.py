"""The jobs of the server over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server.rest.routes import ApiRoute, Call, Listing
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from dibs.server.scheduler import JobState


def listed(call: Call, body: Listing) -> Any:
    """Return the jobs of the projects that the caller may use."""
    return call.page(body, "jobs", _visible(call), key=lambda one: one["id"])


def _visible(call: Call) -> list[dict[str, Any]]:
    names = {one.id: one.name for one in call.resident.projects.all()}
    only = call.identity.project
    found = []
    for state in call.resident.scheduler.registered():
        owner, _, name = state.id.rpartition("/")
        if not only or owner == only:
            found.append(_shape(state, names.get(owner, owner), name))
    return found


def _shape(state: JobState, project: str, name: str) -> dict[str, Any]:
    return {
        "id": state.id, "project": project, "name": name, "every": state.every,
        "running": state.running, "hangs": state.hangs, "runs": state.runs, "failures": state.failures,
        "last_run": state.last_run or None, "duration": round(state.duration, 6),
        "last_error": state.last_error, "next_run": state.next_run,
    }  # fmt: skip


ROUTES = (
    ApiRoute(
        "GET", "/jobs", "jobs.list", "List what the server does regularly, and how that went",
        "jobs:job*", listed, Listing, TokenScope.READ, project=False,
    ),
)  # fmt: skip
