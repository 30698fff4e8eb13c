"""Text for people: one place for how claims, conflicts, agents and spans of time read.

Everything that came from an agent goes through ``printable``: it is data, not control of a terminal.
What others wrote goes through ``Quoting``, which fences it where an agent reads it.
Colour appears on a terminal only, and never when NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys

from dibs.core.text.durations import show_span
from dibs.core.text.names import printable as printable  # noqa: PLC0414 - commands take it from here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import (
        Ask,
        Claim,
        Conflict,
        Denied,
        Granted,
        Held,
        Lost,
        Outcome,
        Queued,
        Waiter,
    )
    from dibs.shapes.quoting import Quoting

#: How claims go without anybody's doing, for reasons in our own words.
_NOBODY_DID = frozenset({"void", "is no longer certain"})


def _painter(escape: str) -> Callable[[str], str]:
    """Return how a text is painted on a terminal."""

    def paint(text: str) -> str:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return text if plain or not sys.stdout.isatty() else f"\x1b[{escape}m{text}\x1b[0m"

    return paint


#: A heading, something of second rank, a refusal, a success, something to look at.
bold, dim, red, green, yellow = map(_painter, ("1", "2", "31", "32", "33"))


def span(seconds: float) -> str:
    """Return a span of time, to the second."""
    return show_span(max(0, round(seconds)))


def clock(moment: float, now: float) -> str:
    """Return a moment as the reader's clock shows it, with the date where that is not today's."""
    import time

    local = time.localtime(moment)
    today = time.localtime(now)[:3] == local[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", local)


def claim_line(claim: Claim, expires_in: float, quoted: Quoting | None = None) -> str:
    """Return one line for a claim; what its reader wrote itself needs no quoting."""
    pattern, reason = printable(claim.pattern), printable(claim.reason)
    if quoted is not None:
        pattern = quoted.path(claim.pattern, claim.agent)
        reason = reason and quoted.word(claim.reason, claim.agent)
    why = f" - {reason}" if reason else ""
    return f"{pattern} ({claim.mode}, token {claim.token}, {span(expires_in)} left){why}"


def holder_line(held: Held, quoted: Quoting) -> str:
    """Return one line for a claim that somebody holds."""
    claim = held.claim
    why = f" - {quoted.word(claim.reason, claim.agent)}" if claim.reason else ""
    task = f", task {quoted.word(claim.task, claim.agent)}" if claim.task else ""
    return (
        f"{bold(claim.agent)} holds {quoted.path(claim.pattern, claim.agent)}"
        f" ({claim.mode}, {span(held.expires_in)} left{task}){why}"
    )


def waiter_line(waiter: Waiter, quoted: Quoting) -> str:
    """Return one line for somebody who waits."""
    ticket = waiter.ticket
    why = f" - {quoted.word(ticket.reason, ticket.agent)}" if ticket.reason else ""
    patterns = ", ".join(quoted.path(pattern, ticket.agent) for pattern in ticket.patterns)
    return (
        f"{bold(ticket.agent)} waits for {patterns}"
        f" ({ticket.mode}, place {waiter.place}, {span(waiter.gives_up_in)} left){why}"
    )


def conflict_line(conflict: Conflict, quoted: Quoting) -> str:
    """Return who is in the way, why, since and until when, and the path that shows it."""
    does = "waits for" if conflict.ticket else "holds"
    left = f"gone in {span(conflict.expires_in)} unless it shows up again"
    witness = ""
    if conflict.witness not in {conflict.pattern, conflict.held}:
        witness = f"; both match {quoted.path(conflict.witness, conflict.holder)}"
    why = f" {quoted.said(conflict.reason, conflict.holder)}" if conflict.reason else ""
    return (
        f"{bold(conflict.holder)} {does} {quoted.path(conflict.held, conflict.holder)}"
        f" ({conflict.mode}, {left}){why}{witness}"
    )


def outcome(value: Outcome, now: float, reader: Caller, own: str = "") -> None:
    """Print the answer to a claim; ``own`` is the reason that its reader gave."""
    from dibs.core.claims.rules import Granted

    if isinstance(value, Granted):
        _granted(value, now, reader, own)
        return
    from dibs.shapes.claims import next_steps
    from dibs.shapes.quoting import Quoting

    quoted = Quoting(reader, [str(value)])
    lines = [f"  {conflict_line(conflict, quoted)}" for conflict in value.conflicts]
    for line in quoted.page(lines, [_headline(value, quoted)]):
        print(line)
    for step in next_steps(value):
        print(f"  {dim('-')} {printable(step)}")


def _granted(value: Granted, now: float, reader: Caller, own: str) -> None:
    quoted = None
    if any(claim.reason not in {"", own} for claim in value.claims):
        from dibs.shapes.quoting import Quoting

        quoted = Quoting(reader, [str(value)])  # a claim that was handed over keeps its reason
    lines = [
        f"{green('granted')} {claim_line(claim, expires - now, quoted)}"
        for claim, expires in zip(value.claims, value.expires, strict=True)
    ]
    print("\n".join(quoted.page(lines) if quoted else lines))


def _headline(value: Queued | Denied, quoted: Quoting) -> str:
    from dibs.core.claims.rules import Queued

    asked = ", ".join(dict.fromkeys(printable(c.pattern) for c in value.conflicts))
    if isinstance(value, Queued):
        return f"{yellow('queued')} {asked}: ticket {value.ticket.number}"
    if value.why == "deadlock":
        circle = ", ".join(
            f"{w.agent} waits for {w.holder} ({quoted.path(w.pattern, w.agent)})"
            for w in value.cycle
        )
        return f"{red('denied')} {asked}: waiting would close a circle: {circle}"
    if value.why == "timeout":
        return f"{red('denied')} {asked}: still held when the wait was over"
    if value.why == "refused":
        reason = f": {quoted.word(value.reason, value.by)}" if value.reason else ""
        return f"{red('denied')} {asked}: {value.by} refused it ({value.decision}){reason}"
    return f"{red('denied')} {asked}"


def lost_line(lost: Lost, quoted: Quoting) -> str:
    """Return how a claim was lost, for its old holder."""
    if lost.why in _NOBODY_DID:
        return printable(str(lost))
    why = f": {quoted.word(lost.reason, lost.by or 'dibs')}" if lost.reason else ""
    return printable(str(lost._replace(reason=""))) + why


def ask_line(ask: Ask, now: float, quoted: Quoting) -> str:
    """Return a release request, for the holder."""
    note = f": {quoted.said(ask.note, ask.asker)}" if ask.note else ""
    said = f"; you said {ask.answer}" if ask.answer else ""
    if ask.promised:
        said += f", in {span(ask.promised - now)}"
    what = quoted.path(ask.pattern, ask.asker)
    return f"{ask.asker} asks for {what} in {span(ask.until - now)}{note}{said}"
