"""The jobs of the server over REST: list them, and run one now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.core.text.names import printable
from dibs.errors import NotFound
from dibs.server.rest.routes import Answer, ApiRoute, Call, Listing, NoBody
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from dibs.server.scheduler import JobState


def listed(call: Call, body: Listing) -> Any:
    """Return the jobs of the projects that the caller may use."""
    return call.page(body, "jobs", _visible(call), key=lambda one: one["id"])


def run(call: Call, _: NoBody) -> Any:
    """Start a job now; if it is running, once more afterwards."""
    wanted = call.path["id"]
    for one in _visible(call):
        if wanted in {one["id"], f"{one['project']}/{one['name']}"}:
            call.resident.scheduler.soon(one["id"])
            return Answer(202, {"job": one})
    raise NotFound(
        f"no job {printable(wanted[:200])!r}", code="NO_JOB", hint="GET /api/v1/jobs lists the jobs"
    )


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
    ApiRoute(
        "POST", "/jobs/{id}/run", "jobs.run", "Run a job now",
        "job:job", run, scope=TokenScope.ADMIN, statuses=(202,), project=False,
    ),
)  # fmt: skip
