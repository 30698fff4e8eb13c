"""Briefings: what changed in the crew, with each message delivered once.

A client gets a briefing, shows it to its agent, and confirms it by its number. One that is not confirmed soon
is returned again, with the same number and text.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.core.briefing.page import MAX_BUDGET, MIN_BUDGET
from dibs.errors import NotFound
from dibs.server.rest.routes import ApiRoute, Body, Call
from dibs.server.security.identity import TokenScope
from dibs.shapes.briefing import briefing

Tokens = Annotated[int, Meta(ge=MIN_BUDGET, le=MAX_BUDGET, description="maximum length in tokens")]


class PeekQuery(Body, frozen=True):
    """How long the briefing may be."""

    tokens: Tokens | None = None


def peek(call: Call, body: PeekQuery) -> Any:
    """Return the whole state as you see it; this delivers nothing."""
    return briefing(call.project.briefings.peek(call.caller, budget=body.tokens or 0))


class BriefBody(PeekQuery, frozen=True):
    """Which briefing to prepare."""

    full: Annotated[bool, Meta(description="everything, even if unchanged")] = False


def prepare(call: Call, body: BriefBody) -> Any:
    """Return what is new for you; confirm it by its number once your agent has it."""
    project = call.project
    if not project.store.exists:  # nothing to count deliveries in
        return briefing(project.briefings.peek(call.caller, budget=body.tokens or 0))
    found = project.briefings.prepare(call.caller, full=body.full, budget=body.tokens or 0)
    return briefing(found)


class DeliveredBody(Body, frozen=True):
    """Which briefing arrived."""

    number: Annotated[int, Meta(ge=1, le=2**53 - 1)]


def delivered(call: Call, body: DeliveredBody) -> Any:
    """Confirm a briefing, so that its messages count as delivered."""
    if not call.project.briefings.delivered(call.caller, body.number):
        raise NotFound(
            f"no briefing {body.number} waits for its confirmation",
            code="NO_BRIEFING",
            field="number",
            hint="it was confirmed before, or another one replaced it; get a new one",
        )
    return {"number": body.number, "delivered": True}


ROUTES = (
    ApiRoute(
        "GET", "/briefing", "briefings.peek", "Show crew status and unread messages",
        "brief", peek, PeekQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/briefing", "briefings.prepare", "Get what is new for you", "brief", prepare,
        BriefBody,
    ),
    ApiRoute(
        "POST", "/briefing/delivered", "briefings.delivered", "Confirm that a briefing arrived",
        "number:int delivered:bool", delivered, DeliveredBody,
    ),
)  # fmt: skip
