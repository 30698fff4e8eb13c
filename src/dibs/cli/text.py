"""Text for people: one place for how claims, conflicts, agents and spans of time read.

Everything that came from an agent goes through ``printable``: it is data, not control of a terminal.
Colour appears on a terminal only, and never when NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys

from dibs.core.durations import show_span
from dibs.core.names import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims import Ask, Claim, Conflict, Denied, Held, Lost, Outcome, Queued, Waiter

__all__ = [
    "ask_line",
    "bold",
    "claim_line",
    "clock",
    "conflict_line",
    "dim",
    "green",
    "holder_line",
    "lost_line",
    "outcome",
    "printable",
    "red",
    "span",
    "waiter_line",
    "yellow",
]

_ESCAPES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def _coloured(text: str, style: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return text
    return f"\x1b[{_ESCAPES[style]}m{text}\x1b[0m"


def bold(text: str) -> str:
    """Return ``text`` as a heading."""
    return _coloured(text, "bold")


def dim(text: str) -> str:
    """Return ``text`` as something of second rank."""
    return _coloured(text, "dim")


def red(text: str) -> str:
    """Return ``text`` as a refusal."""
    return _coloured(text, "red")


def green(text: str) -> str:
    """Return ``text`` as a success."""
    return _coloured(text, "green")


def yellow(text: str) -> str:
    """Return ``text`` as something to look at."""
    return _coloured(text, "yellow")


def span(seconds: float) -> str:
    """Return a span of time, to the second."""
    return show_span(max(0, round(seconds)))


def clock(moment: float, now: float) -> str:
    """Return a moment as the reader's clock shows it, with the date where that is not today's."""
    import time

    local = time.localtime(moment)
    today = time.localtime(now)[:3] == local[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", local)


def claim_line(claim: Claim, expires_in: float) -> str:
    """Return one line for a claim that the reader holds."""
    why = f" - {printable(claim.reason)}" if claim.reason else ""
    return (
        f"{printable(claim.pattern)} ({claim.mode}, token {claim.token},"
        f" {span(expires_in)} left){why}"
    )


def holder_line(held: Held) -> str:
    """Return one line for a claim that somebody holds."""
    claim = held.claim
    why = f" - {printable(claim.reason)}" if claim.reason else ""
    task = f", task {printable(claim.task)}" if claim.task else ""
    return (
        f"{bold(claim.agent)} holds {printable(claim.pattern)}"
        f" ({claim.mode}, {span(held.expires_in)} left{task}){why}"
    )


def waiter_line(waiter: Waiter) -> str:
    """Return one line for somebody who waits."""
    ticket = waiter.ticket
    why = f" - {printable(ticket.reason)}" if ticket.reason else ""
    patterns = ", ".join(map(printable, ticket.patterns))
    return (
        f"{bold(ticket.agent)} waits for {patterns}"
        f" ({ticket.mode}, place {waiter.place}, {span(waiter.gives_up_in)} left){why}"
    )


def conflict_line(conflict: Conflict) -> str:
    """Return who is in the way, why, since and until when, and the path that shows it."""
    does = "waits for" if conflict.ticket else "holds"
    left = f"gone in {span(conflict.expires_in)} unless it shows up again"
    witness = ""
    if conflict.witness not in {conflict.pattern, conflict.held}:
        witness = f"; both match {printable(conflict.witness)}"
    why = f' "{printable(conflict.reason)}"' if conflict.reason else ""
    return (
        f"{bold(conflict.holder)} {does} {printable(conflict.held)}"
        f" ({conflict.mode}, {left}){why}{witness}"
    )


def outcome(value: Outcome, now: float) -> None:
    """Print the answer to a claim."""
    from dibs.core.claims import Granted

    if isinstance(value, Granted):
        for claim, expires in zip(value.claims, value.expires, strict=True):
            print(f"{green('granted')} {claim_line(claim, expires - now)}")
        return
    from dibs.services.shapes import next_steps

    print(_headline(value))
    for conflict in value.conflicts:
        print(f"  {conflict_line(conflict)}")
    for step in next_steps(value):
        print(f"  {dim('-')} {printable(step)}")


def _headline(value: Queued | Denied) -> str:
    from dibs.core.claims import Queued

    asked = ", ".join(dict.fromkeys(printable(c.pattern) for c in value.conflicts))
    if isinstance(value, Queued):
        return f"{yellow('queued')} {asked}: ticket {value.ticket.number}"
    if value.why == "deadlock":
        circle = ", ".join(
            f"{w.agent} waits for {w.holder} ({printable(w.pattern)})" for w in value.cycle
        )
        return f"{red('denied')} {asked}: waiting would close a circle: {circle}"
    if value.why == "timeout":
        return f"{red('denied')} {asked}: still held when the wait was over"
    if value.why == "refused":
        reason = f": {printable(value.reason)}" if value.reason else ""
        return f"{red('denied')} {asked}: {value.by} refused it ({value.decision}){reason}"
    return f"{red('denied')} {asked}"


def lost_line(lost: Lost) -> str:
    """Return how a claim was lost, for its old holder."""
    return printable(str(lost))


def ask_line(ask: Ask, now: float) -> str:
    """Return a release request, for the holder."""
    note = f': "{printable(ask.note)}"' if ask.note else ""
    said = f"; you said {ask.answer}" if ask.answer else ""
    if ask.promised:
        said += f", in {span(ask.promised - now)}"
    return f"{ask.asker} asks for {printable(ask.pattern)} in {span(ask.until - now)}{note}{said}"
