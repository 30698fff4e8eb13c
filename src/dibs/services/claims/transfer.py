"""Transfer claims to another agent, without splitting them and without creating a deadlock."""

from __future__ import annotations

from dibs.core.claims.agents import Agent, Beat, is_reserved, is_terminal
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Claim, Lost, compatible
from dibs.core.patterns.pattern import overlap
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.services.claims.acquire import SHOWN, circle_of
from dibs.services.state.own_claims import claims_of, own_at
from dibs.services.state.ownership import is_family
from dibs.services.state.presence import lose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile


def hand_over(rows: Rows, giver: str, role: str, filed: Sequence[Filed], to: str) -> list[Claim]:
    """Transfer claims to the agent ``to`` under one new token, or refuse."""
    heir = _heir(rows, giver, to)
    _check_whole(rows, giver, filed)
    handed = _move(rows, giver, role, filed, heir)
    for agent in (heir.id, giver):
        _check_circle(rows, agent)
    return handed


def _heir(rows: Rows, giver: str, to: str) -> Agent:
    heir = rows.agent(to)
    if heir is None or is_terminal(heir.status):
        message = f"unknown agent {to}"
        hint = f"register it first: dibs agent join --agent {to}"
        if is_reserved(to):
            hint = "`dibs agent ls` lists the agents"
        raise NotFound(message, code="NO_AGENT", field="to", hint=hint)
    if to == giver:
        raise BadInput(f"{to} already holds it", code="AGENT_SAME", field="to")
    return heir


def _check_whole(rows: Rows, giver: str, filed: Sequence[Filed]) -> None:
    """Refuse if the giver keeps a claim that overlaps: both agents would hold it."""
    if not filed:
        raise NotFound(f"you ({giver}) hold nothing to transfer", code="NOT_HELD")
    moved = dict(filed)
    for key, kept in claims_of(rows, giver):
        for claim in [] if key in moved else moved.values():
            apart = overlap(rows.pattern(kept.pattern), rows.pattern(claim.pattern)) is None
            if not apart and not compatible(kept.mode, claim.mode):
                raise BadInput(
                    f"you also hold {kept.pattern}, which overlaps {claim.pattern}",
                    code="TRANSFER_OVERLAP",
                    hint="transfer both, or release the one that you do not need",
                )


def _check_circle(rows: Rows, agent: str) -> None:
    """Refuse a transfer after which ``agent`` and others would wait for each other.

    This applies to the giver too: it may wait for an agent that waits for the transferred claim.
    """
    cycle = circle_of(rows, agent)
    if cycle:
        circle = ", ".join(f"{w.agent} waits for {w.holder} ({w.pattern})" for w in cycle)
        raise NotAllowed(f"this would deadlock: {circle}", code="DEADLOCK")


def _move(rows: Rows, giver: str, role: str, filed: Sequence[Filed], heir: Agent) -> list[Claim]:
    token = rows.emit(
        giver, role, Kind.LOCK_TRANSFERRED,
        f"{giver} transferred {', '.join(c.pattern for _, c in filed[:5])} to {heir.id}",
        patterns=[claim.pattern for _, claim in filed[:SHOWN]], to=heir.id,
    )  # fmt: skip
    theirs = rows.beat(heir.id) or Beat(rows.now, role=heir.role)
    handed = []
    left: list[UnfinishedFile] = []
    for place, (key, claim) in enumerate(filed):
        lost = Lost(claim.pattern, claim.token, "transferred", rows.now, heir.id, told=True)
        left += lose(rows, key, claim, lost)
        merged = _drop_same(rows, heir.id, rows.pattern(claim.pattern))
        if rows.lost_at(heir.id, rows.pattern(claim.pattern)) is not None:
            rows.drop_lost(heir.id, rows.pattern(claim.pattern))
            theirs = theirs._replace(lost=max(0, theirs.lost - 1))
        moved = claim._replace(id=f"c{token}.{place}", agent=heir.id, token=token, since=rows.now)
        rows.put_claim(moved, rows.pattern(claim.pattern))
        theirs = theirs._replace(
            ttl=min(theirs.ttl, moved.ttl),
            hard=min(theirs.hard, moved.hard),
            claims=theirs.claims + 1 - merged,
        )
        handed.append(moved)
    rows.put_beat(heir.id, theirs)
    from dibs.services.state.mailbox import notify_new_owner

    notify_new_owner(rows, giver, handed, [] if is_family(rows, giver, heir.id) else left)
    return handed


def _drop_same(rows: Rows, agent: str, pattern: Pattern) -> int:
    """Drop the new owner's own shared claim, which the transferred one replaces."""
    same = [
        key
        for key, claim in own_at(rows, agent, pattern)
        if rows.pattern(claim.pattern).key == pattern.key
    ]
    for key in same:
        rows.drop_claim(key)
    return len(same)
