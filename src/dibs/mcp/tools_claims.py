"""The tools of claims: claim, wait, release, status, ask. Each takes what was asked, and tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.rules import EXCLUSIVE, SHARED, Granted, Queued
from dibs.core.patterns.pattern import overlap
from dibs.errors import BadInput, Fenced, NotAllowed, NotFound
from dibs.mcp import outputs
from dibs.mcp.messages import refused_next
from dibs.shapes.quoting import Quoting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.api.client import Dibs
    from dibs.core.claims.rules import Conflict, Outcome, Waiter
    from dibs.core.claims.rules import Held as HeldClaim
    from dibs.core.patterns.pattern import Pattern
    from dibs.mcp.inputs import AskAsked, ClaimAsked, ReleaseAsked, StatusAsked, WaitAsked
    from dibs.services.claims.overview import Overview
    from dibs.services.claims.service import Claims

#: How many rows of one kind an answer shows: a model pays for each.
ROWS = 50


def claim(dibs: Dibs, asked: ClaimAsked) -> outputs.ClaimTold:
    """Claim all of the paths now, or none."""
    return acquire(dibs, asked, dibs.project.claims, 0.0)


def acquire(
    dibs: Dibs, asked: ClaimAsked | WaitAsked, claims: Claims, seconds: float
) -> outputs.ClaimTold:
    """Claim by way of ``claims``, which may know how to break off a wait."""
    patterns = patterns_of(dibs, asked.paths)
    mode = SHARED if asked.shared else EXCLUSIVE
    answer = claims.claim(dibs.caller, patterns, mode=mode, wait=seconds, reason=asked.reason)
    return outcome(dibs, answer)


def patterns_of(dibs: Dibs, paths: Sequence[str]) -> list[Pattern]:
    """Return what the caller's paths name, as everybody names it."""
    return [_resolved(dibs, f"paths.{place}", path) for place, path in enumerate(paths)]


def _resolved(dibs: Dibs, field: str, path: str) -> Pattern:
    """Return what a path names; what is wrong with it is told by the argument that it stood in."""
    try:
        return dibs.project.tree.resolve(path)
    except BadInput as error:
        raise BadInput(error.message, code=error.code, field=field, hint=error.hint) from None


def outcome(dibs: Dibs, answer: Outcome) -> outputs.ClaimTold:
    """Tell the answer to a claim; a refusal says who, why, until when and what next."""
    if isinstance(answer, Granted):
        now = dibs.project.engine.view(lambda txn: txn.now)
        grants = [
            outputs.Grant(
                path=one.pattern, mode=one.mode, token=one.token, expires_in_s=_left(ends - now)
            )
            for one, ends in zip(answer.claims, answer.expires, strict=True)
        ]
        return outputs.ClaimTold(agent=dibs.caller.id, granted=True, claims=grants)
    quoted = Quoting(None, map(str, answer.conflicts))
    obstacles = [_obstacle(one, quoted) for one in answer.conflicts]
    first = obstacles[0] if obstacles else None
    return outputs.ClaimTold(
        agent=dibs.caller.id,
        granted=False,
        conflicts=obstacles,
        holder=first.holder if first else None,
        reason=first.reason if first else None,
        retry_after_s=min((one.retry_after_s for one in obstacles), default=None),
        why="held" if isinstance(answer, Queued) else answer.why,
        next=refused_next(answer),
        note=quoted.note,
    )


def _obstacle(value: Conflict, quoted: Quoting) -> outputs.Obstacle:
    whose = value.holder
    return outputs.Obstacle(
        path=quoted.path(value.pattern, whose),
        holder=whose,
        held=quoted.path(value.held, whose),
        mode=value.mode,
        reason=quoted(value.reason, whose),
        task=quoted.word(value.task, whose) if value.task else "",
        retry_after_s=_left(value.expires_in),
        witness=quoted.path(value.witness, whose),
        waits=bool(value.ticket),
    )


def _left(span: float) -> float:
    return round(max(0.0, span), 1)


def release(dibs: Dibs, asked: ReleaseAsked) -> outputs.ReleaseTold:
    """Give back the claims on the paths, or all."""
    if bool(asked.paths) == asked.all:
        raise BadInput("name paths, or say all=true, not both", code="USAGE", field="paths")
    patterns = patterns_of(dibs, asked.paths)
    try:
        released = dibs.project.holdings.release(dibs.caller, patterns, token=asked.token)
    except Fenced:
        refuse_if_anothers(dibs, patterns, asked.token)
        raise
    return outputs.ReleaseTold(agent=dibs.caller.id, released=[one.pattern for one in released])


def refuse_if_anothers(dibs: Dibs, patterns: Sequence[Pattern], token: int) -> None:
    """Say so where what was named is another agent's: to know of a claim is not to hold it."""
    me = dibs.caller.id
    held, _ = dibs.project.claims.all()
    holders = [one.claim.agent for one in held if token and one.claim.token == token]
    if not holders and not _lost_any(dibs, patterns):
        for pattern in patterns:
            found, _ = dibs.project.claims.overlapping(pattern)
            holders += [one.claim.agent for one in found]
    if holders and me not in holders:
        raise NotAllowed(
            f"{holders[0]} holds that, and you are {me}",
            code="NOT_YOU",
            hint="only its holder gives a claim back; call ask",
        )


def _lost_any(dibs: Dibs, patterns: Sequence[Pattern]) -> bool:
    """Tell whether the caller held one of these before, and did not give it back."""
    try:
        losses = dibs.project.agents.show(dibs.caller.id)[1]
    except NotFound:  # its first call
        return False
    gone = [dibs.project.pattern(loss.pattern) for loss in losses]
    return any(overlap(a, b) is not None for a in patterns for b in gone)


def status(dibs: Dibs, asked: StatusAsked) -> outputs.StatusTold:
    """Show who works here, what is held and who waits."""
    project, me = dibs.project, dibs.caller.id
    project.end_gone()
    seen = project.overview(me if asked.mine else "")
    if asked.paths:
        seen = _concerning(dibs, seen, asked.paths)
    quoted = Quoting(None, map(str, (seen.claims, seen.queue, seen.agents)))
    rows = (seen.claims, seen.queue, seen.agents)
    return outputs.StatusTold(
        agent=me,
        claims=[_held(one, quoted) for one in seen.claims[:ROWS]],
        queue=[
            outputs.Waits(
                agent=one.ticket.agent,
                paths=[quoted.path(text, one.ticket.agent) for text in one.ticket.patterns[:ROWS]],
                place=one.place,
            )
            for one in seen.queue[:ROWS]
        ],
        agents=[
            outputs.Worker(
                agent=one.agent.id,
                role=quoted.word(one.agent.role, one.agent.id),
                status=quoted.word(one.agent.status, one.agent.id),
                task=quoted.word(one.agent.task, one.agent.id) if one.agent.task else "",
                silent_for_s=_left(one.silent_for),
                claims=one.claims,
            )
            for one in seen.agents[:ROWS]
        ],
        left_out=sum(max(0, len(found) - ROWS) for found in rows),
        note=quoted.note,
    )


def _concerning(dibs: Dibs, seen: Overview, paths: Sequence[str]) -> Overview:
    """Return only the claims and waiters that overlap the paths, and whose they are."""
    claims: dict[str, HeldClaim] = {}
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


def _held(value: HeldClaim, quoted: Quoting) -> outputs.Held:
    one = value.claim
    return outputs.Held(
        path=quoted.path(one.pattern, one.agent),
        mode=one.mode,
        holder=one.agent,
        reason=quoted(one.reason, one.agent),
        task=quoted.word(one.task, one.agent) if one.task else "",
        expires_in_s=_left(value.expires_in),
        asked_by=[ask.asker for ask in value.asks],
    )


def ask(dibs: Dibs, asked: AskAsked) -> outputs.AskTold:
    """Ask the holders to give the paths back, or answer those who ask the caller."""
    patterns = patterns_of(dibs, asked.paths)
    if asked.answer:
        later = asked.within if asked.answer == "later" else None
        found = [
            request
            for pattern in patterns
            for request in dibs.project.answers.answer(
                dibs.caller, asked.answer, pattern=pattern, note=asked.note, within=later
            )
        ]
    else:
        found = dibs.project.holdings.ask(
            dibs.caller, patterns, within=asked.within, note=asked.note
        )
    quoted = Quoting(None, map(str, found))
    free = ["Nobody else holds it: call claim."] if not found else []
    told_so = ["Work on something else; brief tells you the answer."] if found else []
    return outputs.AskTold(
        agent=dibs.caller.id,
        requests=[
            outputs.Request(
                path=quoted.path(one.pattern, one.holder),
                holder=one.holder,
                asker=one.asker,
                answer=one.answer or asked.answer,
                within_s=_left(one.until - one.at),
            )
            for one in found[:ROWS]
        ],
        next=[] if asked.answer else free or told_so,
        note=quoted.note,
    )
