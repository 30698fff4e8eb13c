"""The claim tools: claim, wait, release, status, and ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.rules import EXCLUSIVE, SHARED, Granted
from dibs.core.patterns.pattern import overlap
from dibs.errors import BadInput, Fenced, NotAllowed, NotFound
from dibs.mcp.messages import refused_next, tell
from dibs.shapes import claims as shapes
from dibs.shapes.contract import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.api.client import Dibs
    from dibs.core.claims.rules import Held, Waiter
    from dibs.core.patterns.pattern import Pattern
    from dibs.mcp.inputs import AskAsked, ClaimAsked, ReleaseAsked, StatusAsked, WaitAsked
    from dibs.services.claims.service import Claims
    from dibs.services.claims.views import Overview


def claim(dibs: Dibs, asked: ClaimAsked) -> dict[str, Any]:
    """Claim all of the paths now, or none."""
    return acquire(dibs, asked, dibs.project.claims, 0.0)


def acquire(
    dibs: Dibs, asked: ClaimAsked | WaitAsked, claims: Claims, seconds: float
) -> dict[str, Any]:
    """Claim through ``claims``, which may be able to cancel a wait."""
    patterns = patterns_of(dibs, asked.paths)
    mode = SHARED if asked.shared else EXCLUSIVE
    answer = claims.claim(
        dibs.caller, patterns, mode=mode, wait=seconds, reason=asked.reason, shows_left=True
    )
    steps, own = [], False
    if isinstance(answer, Granted):  # a transferred claim keeps its reason
        own = all(one.reason in {"", asked.reason} for one in answer.claims)
    else:
        steps = refused_next(answer)
    return tell(dibs, ANSWERS["claim"], shapes.outcome(answer), steps, own=own)


def patterns_of(dibs: Dibs, paths: Sequence[str]) -> list[Pattern]:
    """Return the caller's paths as patterns relative to the repository."""
    return [_resolved(dibs, f"paths.{place}", path) for place, path in enumerate(paths)]


def _resolved(dibs: Dibs, field: str, path: str) -> Pattern:
    """Return a path as a pattern; an error names the argument."""
    try:
        return dibs.project.tree.resolve(path)
    except BadInput as error:
        raise BadInput(error.message, code=error.code, field=field, hint=error.hint) from None


def release(dibs: Dibs, asked: ReleaseAsked) -> dict[str, Any]:
    """Release the claims on the paths, or all."""
    if bool(asked.paths) == asked.all:
        raise BadInput("give either paths or all=true", code="USAGE", field="paths")
    patterns = patterns_of(dibs, asked.paths)
    try:
        released = dibs.project.holdings.release(dibs.caller, patterns, token=asked.token)
    except Fenced:
        refuse_if_anothers(dibs, patterns, asked.token)
        raise
    answer = {"released": shapes.claims(released)}
    if left := dibs.project.holdings.left(dibs.caller.id, released):
        answer["left"] = [shapes.left(one) for one in left]
    return tell(dibs, ANSWERS["release"], answer)


def refuse_if_anothers(dibs: Dibs, patterns: Sequence[Pattern], token: int) -> None:
    """Raise ``NotAllowed`` if another agent holds the claim: knowing a token is not owning it."""
    me = dibs.caller.id
    held, _ = dibs.project.claims.all()
    holders = [one.claim.agent for one in held if token and one.claim.token == token]
    if not holders and not _lost_any(dibs, patterns):
        for pattern in patterns:
            found, _ = dibs.project.claims.overlapping(pattern)
            holders += [one.claim.agent for one in found]
    if holders and me not in holders:
        raise NotAllowed(
            f"{holders[0]} holds it, and you are {me}",
            code="NOT_YOU",
            hint="only its owner can release a claim; call ask",
        )


def _lost_any(dibs: Dibs, patterns: Sequence[Pattern]) -> bool:
    """Return whether the caller has lost a claim on one of these."""
    try:
        losses = dibs.project.agents.show(dibs.caller.id)[1]
    except NotFound:  # its first call
        return False
    gone = [dibs.project.pattern(loss.pattern) for loss in losses]
    return any(overlap(a, b) is not None for a in patterns for b in gone)


def status(dibs: Dibs, asked: StatusAsked) -> dict[str, Any]:
    """Return agents, claims, and the queue."""
    project, me = dibs.project, dibs.caller.id
    seen = project.overview(me if asked.mine else "")
    if asked.paths:
        seen = _concerning(dibs, seen, asked.paths)
    return tell(dibs, ANSWERS["status"], shapes.overview(seen))


def _concerning(dibs: Dibs, seen: Overview, paths: Sequence[str]) -> Overview:
    """Return only the claims and waiters that overlap the paths, and their agents."""
    claims: dict[str, Held] = {}
    queue: dict[int, Waiter] = {}
    for pattern in patterns_of(dibs, paths):
        held, waiting = dibs.project.claims.overlapping(pattern)
        claims |= {one.claim.id: one for one in held}
        queue |= {one.ticket.number: one for one in waiting}
    named = {one.claim.agent for one in claims.values()} | {q.ticket.agent for q in queue.values()}
    return seen._replace(
        claims=list(claims.values()),
        queue=list(queue.values()),
        agents=[one for one in seen.agents if one.agent.id in named],
    )


def ask(dibs: Dibs, asked: AskAsked) -> dict[str, Any]:
    """Send release requests for the paths, or reply to requests."""
    patterns = patterns_of(dibs, asked.paths)
    if asked.answer:
        later = asked.within if asked.answer == "later" else None
        answered = [
            shapes.ask(request)
            for pattern in patterns
            for request in dibs.project.answers.answer(
                dibs.caller, asked.answer, pattern=pattern, note=asked.note, within=later
            )
        ]
        return tell(dibs, ANSWERS["answer"], {"answered": answered})
    found = dibs.project.holdings.ask(dibs.caller, patterns, within=asked.within, note=asked.note)
    step = (
        "Work on something else; brief shows the reply."
        if found
        else "No other agent holds it: call claim."
    )
    return tell(dibs, ANSWERS["ask"], {"asked": [shapes.ask(one) for one in found]}, [step])
