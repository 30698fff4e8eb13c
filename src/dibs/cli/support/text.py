"""Lines that describe claims, waiters, and release requests, and the colors of a terminal.

Text from agents goes through ``printable``, so that it cannot control a terminal; text from other agents
goes through ``Quoting``, which fences it for an agent. Colors appear only on a terminal without NO_COLOR.
"""

from __future__ import annotations

import os
import sys

from dibs.core.text.durations import show_expiry, show_span
from dibs.core.text.names import printable as printable  # noqa: PLC0414 - commands take it from here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.claims.rules import Ask, Claim, Conflict, Held, Lost, Waiter
    from dibs.shapes.quoting import Quoting

#: Losses that nobody caused; their reasons are in our own words.
_NOBODY_DID = frozenset({"void", "is no longer certain"})


def _painter(escape: str) -> Callable[[str], str]:
    """Return a function that colors a text on a terminal."""

    def paint(text: str) -> str:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return text if plain or not sys.stdout.isatty() else f"\x1b[{escape}m{text}\x1b[0m"

    return paint


#: For headings, details, refusals, successes, and warnings.
bold, dim, red, green, yellow = map(_painter, ("1", "2", "31", "32", "33"))


def span(seconds: float) -> str:
    """Return a duration, to the second."""
    return show_span(max(0, round(seconds)))


def clock(moment: float, now: float) -> str:
    """Return a local time, with the date if it is not today."""
    import time

    local = time.localtime(moment)
    today = time.localtime(now)[:3] == local[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", local)


def claim_line(
    claim: Claim, expires_in: float, quoted: Quoting | None = None, *, token: bool = False
) -> str:
    """Return one line for a claim; ``quoted`` is needed if another agent may have written its reason."""
    pattern, reason = printable(claim.pattern), printable(claim.reason)
    if quoted is not None:
        pattern = quoted.path(claim.pattern, claim.agent)
        reason = reason and quoted.word(claim.reason, claim.agent)
    return f"{pattern} ({claim_terms(claim, expires_in, token=token)}){reason and f' - {reason}'}"


def claim_terms(claim: Claim, expires_in: float, *, token: bool = False) -> str:
    """Return a claim's mode and time left, and its token for a reader who needs it."""
    number = f", token {claim.token}" if token else ""
    return f"{claim.mode}{number}, expires in {span(expires_in)}"


def _held_terms(held: Held, *, token: bool) -> str:
    if not held.while_running:
        return claim_terms(held.claim, held.expires_in, token=token)
    number = f", token {held.claim.token}" if token else ""
    return f"{held.claim.mode}{number}, {show_expiry('', while_running=True)}"


def holder_line(held: Held, quoted: Quoting, *, token: bool = False) -> str:
    """Return one line for another agent's claim."""
    claim = held.claim
    why = f" - {quoted.word(claim.reason, claim.agent)}" if claim.reason else ""
    task = f", task {quoted.word(claim.task, claim.agent)}" if claim.task else ""
    return (
        f"{bold(claim.agent)} holds {quoted.path(claim.pattern, claim.agent)}"
        f" ({_held_terms(held, token=token)}{task}){why}"
    )


def waiter_line(waiter: Waiter, quoted: Quoting) -> str:
    """Return one line for a waiting agent."""
    ticket = waiter.ticket
    why = f" - {quoted.word(ticket.reason, ticket.agent)}" if ticket.reason else ""
    patterns = ", ".join(quoted.path(pattern, ticket.agent) for pattern in ticket.patterns)
    return (
        f"{bold(ticket.agent)} is waiting for {patterns} ({ticket.mode},"
        f" position {waiter.place}, for at most {span(waiter.gives_up_in)}){why}"
    )


def conflict_line(conflict: Conflict, quoted: Quoting, still: str = "") -> str:
    """Return who holds what, and until when; ``still`` goes next to the verb."""
    held = quoted.path(conflict.held, conflict.holder)
    if conflict.ticket:
        return f"{bold(conflict.holder)} is{still} ahead of you in the queue for {held}"
    mode = "shared, " if conflict.mode == "shared" else ""
    left = show_expiry(span(conflict.expires_in), while_running=conflict.while_running)
    return f"{bold(conflict.holder)}{still} holds {held} ({mode}{left})"


def conflict_details(conflict: Conflict, quoted: Quoting) -> list[str]:
    """Return the owner's reason, and the path on which two patterns overlap."""
    found = []
    if conflict.reason and conflict.is_lock_file:
        found.append(conflict.reason)
    elif conflict.reason:
        found.append(f"reason: {quoted.word(conflict.reason, conflict.holder)}")
    if conflict.witness not in {conflict.pattern, conflict.held}:
        found.append(f"both patterns match {quoted.path(conflict.witness, conflict.holder)}")
    return found


def lost_line(lost: Lost, now: float, quoted: Quoting) -> str:
    """Return how a claim was lost, for its former owner."""
    if lost.why in _NOBODY_DID:
        return printable(lost.told_at(now))
    why = f": {quoted.word(lost.reason, lost.by or 'dibs')}" if lost.reason else ""
    return printable(lost._replace(reason="").told_at(now)) + why


def ask_line(ask: Ask, now: float, quoted: Quoting) -> str:
    """Return a release request, for the owner."""
    note = f": {quoted.said(ask.note, ask.asker)}" if ask.note else ""
    reply = f"; you replied {ask.answer}" if ask.answer else ""
    if ask.promised:
        reply += f", in {span(ask.promised - now)}"
    what = quoted.path(ask.pattern, ask.asker)
    return f"{ask.asker} requested {what} (reply within {span(ask.until - now)}){note}{reply}"
