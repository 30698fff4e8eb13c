"""Claims and the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

from msgspec import Meta

from dibs.core.claims.rules import EXCLUSIVE, SHARED, Granted, Queued
from dibs.core.text.names import printable
from dibs.errors import BadUsage, NotFound
from dibs.project.lock_tasks import around, refuse_queued
from dibs.project.stopping import WaitStopped
from dibs.server.rest.routes import (
    Answer,
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    Number,
    Paths,
    PathText,
    SomePaths,
    Span,
    Text,
)
from dibs.server.security.identity import TokenScope
from dibs.shapes import claims as shapes
from dibs.shapes.decisions import escalation

if TYPE_CHECKING:
    from collections.abc import Sequence

Literally = Annotated[bool, Meta(description="whether `*` and the like are ordinary characters")]
Token = Annotated[Number, Meta(description="fail unless the claim has this token")]


class PatternsBody(Body, frozen=True, kw_only=True):
    """Some patterns."""

    patterns: SomePaths
    literal: Literally = False


class ClaimBody(PatternsBody, frozen=True, kw_only=True):
    """A claim."""

    shared: Annotated[bool, Meta(description="share the claim with other readers")] = False
    ttl: Annotated[Span, Meta(description="expire this long after the last heartbeat")] | None = (
        None
    )
    wait: Annotated[Span, Meta(description="wait in the queue for at most this long")] = 0
    queue: Annotated[bool, Meta(description="join the queue and return at once")] = False
    reason: Text = ""
    task: Name = ""


class CheckBody(PatternsBody, frozen=True, kw_only=True):
    """A claim that is not made."""

    shared: bool = False


class RenewBody(Body, frozen=True, kw_only=True):
    """The claims to renew; all of them without patterns."""

    patterns: Paths = []
    literal: Literally = False
    ttl: Span | None = None
    token: Token = 0


class ReleaseBody(Body, frozen=True, kw_only=True):
    """The claims to release: some patterns, or all."""

    patterns: Paths = []
    all: bool = False
    literal: Literally = False
    token: Token = 0


class ReleaseQuery(Body, frozen=True, kw_only=True):
    """How to release one claim."""

    literal: Literally = False
    token: Token = 0


class AskBody(PatternsBody, frozen=True, kw_only=True):
    """A request for a release."""

    within: Span = 300
    note: Text = ""


class AnswerBody(Body, frozen=True, kw_only=True):
    """A reply to release requests for a pattern, or to one message."""

    answer: Literal["yes", "later", "no"]
    pattern: PathText | None = None
    message: Name = ""
    literal: Literally = False
    note: Text = ""
    within: Annotated[Span, Meta(description="for `later`: when")] | None = None
    to: Annotated[Name, Meta(description="only to this agent")] = ""


class EscalateBody(PatternsBody, frozen=True, kw_only=True):
    """A conflict for a human to decide."""

    note: Text = ""


class RevokeBody(Body, frozen=True, kw_only=True):
    """The claims to revoke, and why."""

    pattern: PathText
    reason: Text
    literal: Literally = False


class TransferBody(PatternsBody, frozen=True, kw_only=True):
    """The claims to transfer, and to whom."""

    to: Name
    token: Token = 0


class ClaimsQuery(Listing, frozen=True, kw_only=True):
    """Which claims to list."""

    agent: Name = ""


class WhoQuery(Body, frozen=True, kw_only=True):
    """The paths to look up."""

    path: SomePaths
    literal: Literally = False


class OneQuery(Body, frozen=True, kw_only=True):
    """How to read the path."""

    literal: Literally = False


def create(call: Call, body: ClaimBody) -> Any:
    """Claim patterns, all or nothing."""
    project = call.project
    for text in body.patterns:
        refuse_queued(project, text)
    outcome = project.claims.claim(
        call.caller,
        [project.tree.resolve(text, literal=body.literal) for text in body.patterns],
        mode=SHARED if body.shared else EXCLUSIVE,
        ttl=body.ttl,
        wait=body.wait,
        queue=body.queue,
        reason=body.reason,
        task=body.task,
        request_id=call.request_id,
        shows_left=True,
    )
    if isinstance(outcome, Granted) and call.hung_up and not call.request_id:
        _give_back(call, outcome)
    status = 201 if isinstance(outcome, Granted) else 202 if isinstance(outcome, Queued) else 409
    return Answer(status, shapes.outcome(outcome, human=call.caller.human))


def _give_back(call: Call, granted: Granted) -> NoReturn:
    """Release what was granted to a client that is gone; one with a key would repeat the request."""
    fresh = [one.pattern for one, new in zip(granted.claims, granted.fresh, strict=True) if new]
    project = call._replace(gone=None).project
    if fresh:
        project.holdings.release(call.caller, [project.pattern(text) for text in fresh])
    raise WaitStopped


def check(call: Call, body: CheckBody) -> Any:
    """Return what is in the way."""
    patterns = call.patterns(body.patterns, literal=body.literal)
    mode = SHARED if body.shared else EXCLUSIVE
    found = call.project.claims.check(call.caller, patterns, mode)
    return {"free": not found, "conflicts": [shapes.conflict(one) for one in found]}


def listed(call: Call, body: ClaimsQuery) -> Any:
    """Return the live claims."""
    held, _ = call.project.claims.all(body.agent)
    rows = [shapes.held(one) for one in held]
    return call.page(body, "claims", rows, key=lambda one: (one["pattern"], one["id"]))


def show(call: Call, body: OneQuery) -> Any:
    """Return who holds and who waits for a path."""
    (pattern,) = call.patterns([call.path["path"]], literal=body.literal)
    return shapes.holders(pattern.text, *around(call.project, pattern))


def who(call: Call, body: WhoQuery) -> Any:
    """Return who holds and who waits for some paths."""
    patterns = call.patterns(body.path, literal=body.literal)
    return shapes.who({one.text: around(call.project, one) for one in patterns})


def renew(call: Call, body: RenewBody) -> Any:
    """Renew claims; 409 if one was lost."""
    patterns = call.patterns(body.patterns, literal=body.literal)
    found = call.project.holdings.renew(call.caller, patterns, ttl=body.ttl, token=body.token)
    return Answer(409 if found.lost else 200, shapes.renewed(found))


def _release(call: Call, texts: Sequence[str], token: int, *, literal: bool) -> Any:
    holdings = call.project.holdings
    patterns = call.patterns(texts, literal=literal)
    gone = holdings.release(call.caller, patterns, token=token, request_id=call.request_id)
    return shapes.released(gone, holdings.left(call.caller.id, gone))


def release(call: Call, body: ReleaseBody) -> Any:
    """Release some claims, or all."""
    if bool(body.patterns) == body.all:
        raise BadUsage("name some patterns, or set all to true", field="patterns")
    return _release(call, body.patterns, body.token, literal=body.literal)


def release_one(call: Call, body: ReleaseQuery) -> Any:
    """Release the claim on a path."""
    return _release(call, [call.path["path"]], body.token, literal=body.literal)


def ask(call: Call, body: AskBody) -> Any:
    """Ask the owners to release."""
    patterns = call.patterns(body.patterns, literal=body.literal)
    asked = call.project.holdings.ask(call.caller, patterns, within=body.within, note=body.note)
    return {"asked": [shapes.ask(one) for one in asked]}


def answer(call: Call, body: AnswerBody) -> Any:
    """Reply to release requests."""
    if (body.pattern is None) == (not body.message):
        raise BadUsage("name either a pattern or a message", field="pattern")
    pattern = (
        None if body.pattern is None else call.patterns([body.pattern], literal=body.literal)[0]
    )
    answered = call.project.answers.answer(
        call.caller, body.answer, pattern=pattern, message=body.message, note=body.note,
        within=body.within, to=body.to,
    )  # fmt: skip
    return {"answered": [shapes.ask(one) for one in answered]}


def escalate(call: Call, body: EscalateBody) -> Any:
    """Let a human decide."""
    patterns = call.patterns(body.patterns, literal=body.literal)
    made = call.project.escalations.escalate(call.caller, patterns, note=body.note)
    return {"escalated": [escalation(one) for one in made]}


def revoke(call: Call, body: RevokeBody) -> Any:
    """Take claims from their owners."""
    (pattern,) = call.patterns([body.pattern], literal=body.literal)
    revoked = call.project.holdings.revoke(call.caller, pattern, reason=body.reason)
    if not revoked:
        message = f"no one holds a claim that overlaps {printable(pattern.text)}"
        raise NotFound(message, code="NOT_HELD", hint="GET /api/v1/claims lists the claims")
    return {"revoked": shapes.claims(revoked)}


def transfer(call: Call, body: TransferBody) -> Any:
    """Hand claims to another agent."""
    handed = call.project.holdings.transfer(
        call.caller, call.patterns(body.patterns, literal=body.literal),
        to=body.to, token=body.token, request_id=call.request_id,
    )  # fmt: skip
    return {"transferred": shapes.claims(handed)}


def queue(call: Call, body: ClaimsQuery) -> Any:
    """Return who waits."""
    rows = [shapes.queued(one) for one in call.project.claims.queue(body.agent)]
    return call.page(body, "queue", rows, key=lambda one: one["ticket"])


ROUTES = (
    ApiRoute(
        "POST", "/claims", "claims.create", "Claim paths, globs, or named resources, all or nothing",
        "claim", create, ClaimBody, statuses=(201, 202, 409), waits=True, keeps_ids=True, quick=True,
    ),
    ApiRoute(
        "GET", "/claims", "claims.list", "List the live claims",
        "claims:held_claim*", listed, ClaimsQuery, TokenScope.READ, quick=True,
    ),
    ApiRoute(
        "GET", "/claims/{path:path}", "claims.show", "Show who holds and who waits for a path",
        "+holders", show, OneQuery, TokenScope.READ,
    ),
    ApiRoute(
        "DELETE", "/claims/{path:path}", "claims.release_one", "Release your claim on a path",
        "release", release_one, ReleaseQuery, keeps_ids=True,
    ),
    ApiRoute(
        "POST", "/claims/check", "claims.check", "Show what a claim would conflict with",
        "check", check, CheckBody, TokenScope.READ, quick=True,
    ),
    ApiRoute(
        "POST", "/claims/renew", "claims.renew", "Renew your claims, and hear about lost ones",
        "renew", renew, RenewBody, statuses=(200, 409), quick=True,
    ),
    ApiRoute(
        "POST", "/claims/release", "claims.release", "Release some of your claims, or all",
        "release", release, ReleaseBody, keeps_ids=True,
    ),
    ApiRoute(
        "POST", "/claims/ask", "claims.ask", "Ask the owners to release", "ask", ask, AskBody,
    ),
    ApiRoute(
        "POST", "/claims/answer", "claims.answer", "Reply to a release request",
        "answer", answer, AnswerBody,
    ),
    ApiRoute(
        "POST", "/claims/escalate", "claims.escalate", "Let a human decide a conflict",
        "escalate", escalate, EscalateBody,
    ),
    ApiRoute(
        "POST", "/claims/revoke", "claims.revoke", "Take claims from their owners",
        "revoke", revoke, RevokeBody, TokenScope.HUMAN,
    ),
    ApiRoute(
        "POST", "/claims/transfer", "claims.transfer", "Hand your claims to another agent",
        "transfer", transfer, TransferBody, keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/queue", "queue.list", "List who waits for claims",
        "queue:queued_ticket*", queue, ClaimsQuery, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/who", "who.show", "Show who holds and who waits for some paths",
        "who", who, WhoQuery, TokenScope.READ,
    ),
)  # fmt: skip
