"""Handlers of events: which there are, and how they are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server.rest.routes import ApiRoute, Call, NoBody
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from dibs.server.pipeline.part import HandlerView


def listed(call: Call, _: NoBody) -> Any:
    """Return the handlers of a project."""
    assert call.served is not None, "the route has a project"
    pipeline = call.resident.pipeline.of(call.served)
    views = pipeline.views() if pipeline is not None else []
    return {"handlers": [shape(view) for view in views]}


def shape(view: HandlerView) -> dict[str, Any]:
    """Shape a handler."""
    handler, row = view.handler, view.row
    return {
        "name": handler.name,
        "source": handler.source,
        "events": sorted(handler.kinds),
        "runs": handler.runs,
        "state": view.state,
        "reason": handler.parked,
        "waiting": view.waiting,
        "position": row.seq if row else 0,
        "handled": row.handled if row else 0,
        "skipped": row.skipped if row else 0,
        "dropped": row.dropped if row else 0,
        "error": row.error if row else "",
        "failing": view.failing,
        "failed_at": (row.failed_at or None) if row else None,
    }


ROUTES = (
    ApiRoute(
        "GET", "/handlers", "handlers.list", "List the handlers of events, and how they are doing",
        "handlers:handler*", listed, scope=TokenScope.READ,
    ),
)  # fmt: skip
