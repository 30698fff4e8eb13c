"""Whose the changed files are: the claims of a moment, and that they are still in force at the gate."""

from __future__ import annotations

from dibs.core.claims.coverage import Cover, OwnedPattern
from dibs.core.claims.rules import EXCLUSIVE, deadline, live
from dibs.core.patterns.pattern import matches
from dibs.core.text.names import shown
from dibs.errors import Fenced
from dibs.services.state.own_claims import claims_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.rules import Claim, Lost
    from dibs.services.state.rows import Rows


class ClaimsNow(Record):
    """The live claims of a moment, and what an agent has lost."""

    cover: Cover
    #: The agent's own live, exclusive claims on paths.
    own: tuple[OwnedPattern, ...]
    lost: tuple[Lost, ...]


def standing(rows: Rows, agent: str) -> ClaimsNow:
    """Look at all claims, and at what ``agent`` has lost; its claims that ran out count as lost."""
    found: list[OwnedPattern] = []
    ran_out: list[Lost] = []
    for key, claim in rows.claims():
        seen = rows.seen(claim.agent)
        if live(claim, seen, rows.now):
            left = deadline(claim, seen) - rows.now
            found.append(OwnedPattern(claim, rows.pattern(claim.pattern), left, key))
        elif claim.agent == agent:
            ran_out.append(_ran_out(claim, deadline(claim, seen)))
    own = [h for h in found if h.claim.agent == agent and h.claim.mode == EXCLUSIVE]
    lost = [*ran_out, *(lost for _, lost in rows.lost(agent))]
    return ClaimsNow(Cover(found), tuple(h for h in own if not h.pattern.scheme), tuple(lost))


def _ran_out(claim: Claim, at: float) -> Lost:
    from dibs.core.claims.rules import Lost

    return Lost(claim.pattern, claim.token, "expired", at)


def lost_for(rows: Rows, lost: Iterable[Lost], paths: Iterable[str]) -> list[tuple[str, Lost]]:
    """Return the paths that a claim covered which its holder has lost."""
    known = [(item, rows.pattern(item.pattern)) for item in lost]
    return [
        (path, item)
        for path in paths
        for item, pattern in known
        if not pattern.scheme and matches(pattern, f"./{path}")
    ]


def fenced(path: str, lost: Lost | None) -> Fenced:
    """Return that a file's claim was lost on the way."""
    why = str(lost) if lost is not None else f"you do not hold {shown(path)} any more"
    return Fenced(
        f"{shown(path)} is not committed: {why}",
        hint="your changes are kept; look at the file, claim it again, then commit",
    )


def still_covered(
    rows: Rows, agent: str, held: Sequence[OwnedPattern], paths: Sequence[str]
) -> list[Claim]:
    """Return the claims that cover ``paths``, in the gate; raise ``Fenced`` if one of them is gone.

    A claim must be the very one that was seen when the tree was built. One that was lost and claimed again
    does not count, because somebody else may have worked on the file in between.
    """
    now_filed = {(claim.id, claim.token): claim for _, claim in claims_of(rows, agent)}
    standing = []
    for one in held:
        claim = now_filed.get((one.claim.id, one.claim.token))
        if claim is not None and claim.mode == EXCLUSIVE and rows.now < claim.hard:
            standing.append(one._replace(claim=claim))
    cover = Cover(standing)
    needed: dict[str, Claim] = {}
    for path in paths:
        found = cover.exclusive(agent, path)
        if found is None:
            gone = lost_for(rows, (lost for _, lost in rows.lost(agent)), [path])
            raise fenced(path, gone[0][1] if gone else None)
        needed[found.claim.id] = found.claim
    return list(needed.values())
