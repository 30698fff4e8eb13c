"""The table of all routes, and the application that answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.server.jobs import routes as jobs
from dibs.server.rest.dispatch import Dispatcher
from dibs.server.rest.nouns import (
    agents,
    alerts,
    attempts,
    board,
    briefings,
    checks,
    claims,
    commits,
    coordination,
    crew,
    decisions,
    files,
    general,
    handlers,
    history,
    log,
    merges,
    messages,
    tasks,
    tokens,
    worktrees,
)

if TYPE_CHECKING:
    from dibs.server.resident import Resident

PREFIX = "/api/v1"
#: Every route of the API.
ROUTES = (
    *claims.ROUTES,
    *agents.ROUTES,
    *crew.ROUTES,
    *alerts.ROUTES,
    *log.ROUTES,
    *files.ROUTES,
    *history.ROUTES,
    *general.ROUTES,
    *tasks.ROUTES,
    *attempts.ROUTES,
    *board.ROUTES,
    *messages.ROUTES,
    *decisions.ROUTES,
    *commits.ROUTES,
    *worktrees.ROUTES,
    *handlers.ROUTES,
    *jobs.ROUTES,
    *merges.ROUTES,
    *briefings.ROUTES,
    *checks.ROUTES,
    *tokens.ROUTES,
)
#: All routes with their prefixes.
TABLE = (
    *((PREFIX, route) for route in ROUTES),
    *(("/api/coordination", route) for route in coordination.ROUTES),
    *(("", route) for route in general.ROOT_ROUTES),
)


def rest_app(resident: Resident) -> Dispatcher:
    """Return the application for everything below ``/api``."""
    return Dispatcher(resident, TABLE)
