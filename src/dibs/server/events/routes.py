"""The routes of the event streams; short because the endpoints have modules of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route, WebSocketRoute

from dibs.server.events.sessions import Sessions
from dibs.server.events.sse import SseEndpoint
from dibs.server.events.websocket import WebSocketEndpoint

if TYPE_CHECKING:
    from dibs.server.resident import Resident


def event_routes(resident: Resident) -> list[Route | WebSocketRoute]:
    """Return the routes ``/ws`` and ``/events``."""
    sessions = Sessions(resident)
    return [
        WebSocketRoute("/ws", WebSocketEndpoint(sessions).answer),
        Route("/events", SseEndpoint(sessions).answer, methods=["GET"]),
    ]
