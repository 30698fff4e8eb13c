"""Which claim a caller means: the check that every action on a claim goes through.

The caller names patterns, and optionally a token. This module decides which of its claims these
are, and which error the caller gets if it no longer holds them.
"""

from __future__ import annotations

from dibs.core.claims.rules import Claim
from dibs.core.patterns.filing import entry_prefix
from dibs.core.patterns.pattern import overlap
from dibs.core.text.names import quote
from dibs.errors import Fenced, NotFound
from dibs.services.state.rows import claim_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows

#: A claim with its key.
Filed = tuple[str, Claim]


def claims_of(rows: Rows, agent: str) -> list[Filed]:
    """Return the claims of ``agent`` with their keys, live or expired."""
    return [(f.key, claim_of(f)) for f in rows.of_agent(agent) if not f.ticket]


def own(
    rows: Rows, agent: str, patterns: Sequence[Pattern], token: int, command: str = ""
) -> list[Filed]:
    """Return the caller's claims that match; raise an error if it does not hold one that it named.

    With a ``command``, the error suggests it for a claim of the caller that covers the pattern.

    The caller has been seen, so its remaining claims are live, except those that a script took in
    its name.
    """
    if not patterns:
        filed = [
            (key, claim)
            for key, claim in claims_of(rows, agent)
            if token in {0, claim.token} and rows.now < claim.hard
        ]
        if token and not filed:
            raise _stale(token, "")
        return filed
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        mine = [filed for filed in own_at(rows, agent, pattern) if rows.now < filed[1].hard]
        if not mine:
            _refuse(rows, agent, pattern, token, command)
        meant = {key: claim for key, claim in mine if token in {0, claim.token}}
        if not meant:
            other = mine[0][1]
            raise _stale(token, f" for {other.pattern}; its current token is {other.token}")
        chosen |= meant
    return list(chosen.items())


def _stale(token: int, where: str) -> Fenced:
    return Fenced(
        f"token {token} is not valid{where}",
        hint="its claim has ended: stop working on it and claim it again",
    )


def own_at(rows: Rows, agent: str, pattern: Pattern) -> list[Filed]:
    """Return the claims of ``agent`` on ``pattern``; for a glob, also on paths inside it."""
    prefix = f"{entry_prefix(pattern)}{agent}/"
    if pattern.literal:
        return rows.claims_under(prefix)
    exact, inside = [], []
    for found in rows.near(pattern):
        if found.agent == agent and not found.ticket:
            held = rows.pattern(found.record["pattern"])
            if found.key.startswith(prefix) and held.key == pattern.key:
                exact.append((found.key, claim_of(found)))
            elif held.literal and overlap(pattern, held) is not None:
                inside.append((found.key, claim_of(found)))
    return exact + inside


def _refuse(rows: Rows, agent: str, pattern: Pattern, token: int, command: str) -> NoReturn:
    """Raise the appropriate error for a claim that the caller does not hold."""
    holders = [claim for _, claim in others(rows, agent, [pattern])]
    now_held = f"; {holders[0].agent} holds {holders[0].pattern}" if holders else ""
    for _, lost in rows.lost(agent):
        if overlap(pattern, rows.pattern(lost.pattern)) is not None:
            raise Fenced(
                f"{lost.told_at(rows.now)}{now_held}",
                hint="stop working on it, set your changes aside, and claim it again",
            )
    if token:
        raise _stale(token, f" for {pattern.text}{now_held}")
    covered = None if holders else _covered(rows, agent, pattern, command)
    raise covered or (Fenced if holders else NotFound)(
        f"you ({agent}) do not hold {quote(pattern.text)}{now_held}",
        code="FENCED" if holders else "NOT_HELD",
        hint="run `dibs status` to see what you hold",
    )


def _covered(rows: Rows, agent: str, pattern: Pattern, command: str) -> NotFound | None:
    """Return the error for a pattern inside, or across, a claim that ``agent`` holds."""
    for _, claim in claims_of(rows, agent) if command else ():
        if rows.now < claim.hard and overlap(pattern, rows.pattern(claim.pattern)) is not None:
            from shlex import quote as shell_quoted

            how = "covers" if pattern.literal else "overlaps"
            hint = f"run: {command.format(shell_quoted(claim.pattern))}"
            message = f"you hold {claim.pattern}, which {how} {pattern.text}"
            return NotFound(message, code="NOT_HELD", hint=hint)
    return None


def others(rows: Rows, agent: str, patterns: Sequence[Pattern]) -> list[Filed]:
    """Return the live claims of other agents that overlap ``patterns``."""
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        for found in rows.near(pattern):
            if found.agent != agent and not found.ticket:
                claim = claim_of(found)
                overlaps = overlap(pattern, rows.pattern(claim.pattern)) is not None
                if overlaps and rows.is_live(claim):
                    chosen[found.key] = claim
    return list(chosen.items())
