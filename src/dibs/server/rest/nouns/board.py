"""Delegate work, and run the board."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.server.rest.nouns.attempts import WhyBody
from dibs.server.rest.nouns.places import seen_from
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Name, Paths, Text
from dibs.services.board.delegation import Repeated
from dibs.services.board.orchestrator import Orchestrator
from dibs.shapes import delegation
from dibs.shapes import tasks as shapes


class DelegateBody(Body, frozen=True):
    """Work for another agent or a role."""

    to: Name
    title: Text
    context: Text = ""
    paths: Paths = []
    strict: Annotated[bool, Meta(description="send nothing if similar work is active")] = False


def delegate(call: Call, body: DelegateBody) -> Any:
    """Create a task for an agent or a role, and notify it."""
    answer = call.project.delegation.delegate(
        call.caller,
        body.to,
        body.title,
        context=body.context,
        artefacts=[pattern.text for pattern in call.patterns(body.paths)],
        strict=body.strict,
        request_id=call.request_id,
    )
    return Answer(409 if isinstance(answer, Repeated) else 201, delegation.answer(answer))


def cancel(call: Call, body: WhyBody) -> Any:
    """Cancel delegated work that has not started."""
    answer = call.project.delegation.cancel(call.caller, call.path["id"], reason=body.reason)
    return delegation.cancelled(answer)


class CycleBody(Body, frozen=True):
    """How to run a cycle."""

    push: Annotated[bool, Meta(description="push the board's commits")] = False


def orchestrate(call: Call, body: CycleBody) -> Any:
    """Run one cycle: accept edited files, assign tasks, create follow-ups, warn, archive."""
    project = call.project
    state = project.place.repository.state
    runner = Orchestrator(project.store, project.board, state, push=body.push)
    cycle = runner.cycle(call.caller)
    return shapes.cycle(cycle._replace(aside=tuple(seen_from(call, cycle.aside))))


ROUTES = (
    ApiRoute(
        "POST", "/delegations", "delegations.create", "Delegate a task to an agent or a role",
        "delegate", delegate, DelegateBody, statuses=(201, 409), keeps_ids=True,
    ),
    ApiRoute(
        "POST", "/delegations/{id}/cancel", "delegations.cancel",
        "Cancel delegated work that has not started", "delegate", cancel, WhyBody,
    ),
    ApiRoute(
        "POST", "/board/orchestrate", "board.orchestrate",
        "Run one cycle of the board: assign, hand off, archive", "orchestrate", orchestrate, CycleBody,
    ),
)  # fmt: skip
