"""Decisions: record, ask for, list, and make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.core.claims.agents import HUMAN
from dibs.core.talk.decision_rules import asks
from dibs.core.talk.decisions import Outcome
from dibs.server.rest.routes import (
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    NoBody,
    SomeNames,
    Text,
)
from dibs.server.security.identity import TokenScope
from dibs.services.claims.disputes import both_sides
from dibs.shapes import decisions as shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.talk.decisions import Decision


class DecisionBody(Body, frozen=True):
    """A decision, or a question."""

    title: Text
    rationale: Text = ""
    confirm: Annotated[bool, Meta(description="ask for confirmation")] = False
    by: Annotated[Name | None, Meta(description="who may confirm, such as role:lead")] = None


def create(call: Call, body: DecisionBody) -> Any:
    """Record a decision, or ask for confirmation."""
    made = call.project.decisions.new(
        call.caller,
        body.title,
        rationale=body.rationale,
        confirm=asks(confirm=body.confirm, by=body.by),
        decider=HUMAN if body.by is None else body.by,
        request_id=call.request_id,
    )
    return shapes.one(made)


class DecisionQuery(Listing, frozen=True):
    """Which decisions to list."""

    pending: Annotated[bool, Meta(description="only pending decisions")] = False


def list_decisions(call: Call, body: DecisionQuery) -> Any:
    """Return decisions, oldest first; ``left`` is how many follow."""
    found = call.project.decisions.all(pending=body.pending)
    page = call.page(body, "found", enumerate(found), lambda pair: _number(pair[1]))
    chosen = page.pop("found")
    left = len(found) - chosen[-1][0] - 1 if chosen else 0
    return {**shapes.listed([decision for _, decision in chosen], left), **page}


def _number(decision: Decision) -> int:
    return int(decision.id[1:])


def show(call: Call, _: NoBody) -> Any:
    """Return a decision; for a conflict, with both sides."""
    decision = call.project.decisions.show(call.path["id"])
    return shapes.one(decision, both_sides(call.project.store, decision))


class CommentBody(Body, frozen=True):
    """A comment."""

    text: Text


def comment(call: Call, body: CommentBody) -> Any:
    """Comment on a decision."""
    return shapes.one(call.project.decisions.comment(call.caller, call.path["id"], body.text))


class WithdrawBody(Body, frozen=True):
    """Why a decision is withdrawn."""

    reason: Text = ""


def withdraw(call: Call, body: WithdrawBody) -> Any:
    """Withdraw your own pending decision."""
    return shapes.one(call.project.decisions.withdraw(call.caller, call.path["id"], body.reason))


class YesBody(Body, frozen=True):
    """Decisions, all or nothing."""

    ids: SomeNames
    reason: Text = ""


class NoDecisionBody(Body, frozen=True):
    """Decisions, all or nothing, and why."""

    ids: SomeNames
    reason: Annotated[Text, Meta(min_length=1)]


def _decide(outcome: str, *, conflict: bool = False) -> Callable[[Call, Any], Any]:
    def act(call: Call, body: YesBody | NoDecisionBody) -> Any:
        """Make decisions."""
        service = call.project.decisions
        done = service.decide(call.caller, body.ids, outcome, body.reason, conflict=conflict)
        return shapes.decided(done)

    return act


ROUTES = (
    ApiRoute(
        "POST", "/decisions", "decisions.create", "Record a decision, or ask for confirmation",
        "decide new", create, DecisionBody, statuses=(201,), keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/decisions", "decisions.list", "List decisions",
        "decide ls", list_decisions, DecisionQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/decisions/{id}", "decisions.show", "Show a decision and who may decide it",
        "decide show", show, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/decisions/{id}/comment", "decisions.comment", "Comment on a decision",
        "decide comment", comment, CommentBody,
    ),
    ApiRoute(
        "POST", "/decisions/{id}/withdraw", "decisions.withdraw",
        "Withdraw your own pending decision", "decide withdraw", withdraw, WithdrawBody,
    ),
    ApiRoute(
        "POST", "/decisions/confirm", "decisions.confirm", "Confirm pending decisions",
        "decide confirm", _decide(Outcome.CONFIRMED), YesBody,
    ),
    ApiRoute(
        "POST", "/decisions/reject", "decisions.reject", "Reject pending decisions",
        "decide reject", _decide(Outcome.REJECTED), NoDecisionBody,
    ),
    ApiRoute(
        "POST", "/decisions/revoke", "decisions.revoke",
        "Settle conflicts: revoke the claims", "decide revoke",
        _decide(Outcome.CONFIRMED, conflict=True), YesBody,
    ),
    ApiRoute(
        "POST", "/decisions/refuse", "decisions.refuse",
        "Settle conflicts: the owners keep their claims", "decide refuse",
        _decide(Outcome.REJECTED, conflict=True), NoDecisionBody,
    ),
)  # fmt: skip
