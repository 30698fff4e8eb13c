"""Pushing this machine's commits to the remote, for all its processes at once.

The process that holds the remote's lock pushes the tip, with all pending commits below it. The
branch moves only from the commit where this machine last saw it. If another machine was first, the
pending commits are dropped, and every process runs its step again on the new state.
"""

from __future__ import annotations

import json
import time

from dibs.engines.git import errors
from dibs.engines.git.cache import pause
from dibs.engines.git.connection import TIDYING
from dibs.engines.git.head import CommitFate
from dibs.engines.git.remote import PushOutcome
from dibs.engines.shared.sqlite import busy
from dibs.errors import DibsError, Misconfigured, Unavailable, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.git.connection import GitConnection
    from dibs.engines.git.copy import StepResult

#: Seconds to wait for an outcome between attempts to become the pushing process.
_PATIENCE = 0.02
#: The share of the remaining time that a push may take; the rest is for learning its outcome.
_SHARE = 0.6
#: With fewer seconds left, a push is not retried: if it had to be killed, its outcome would be unknown.
_LEAST = 0.5
#: Seconds after another machine's commit was seen during which a winner lets others go first.
_RIVALRY = 5.0
#: That pause as a multiple of the duration of a push, and how long a machine pushes without a pause.
_GAP = 1.0
_BURST = 0.5


def settle(link: GitConnection, attempt: StepResult, started: float, deadline: float) -> bool:
    """Return whether the basis of ``attempt`` is on the remote; if not, the step must run again."""
    if not attempt.number:
        if attempt.asked > started:
            return True
        return is_current(link, attempt.base, started, deadline)
    while True:
        verdict, why = link.cache.fate(attempt.number)
        if verdict == CommitFate.LANDED:
            return True
        if verdict == CommitFate.DROPPED or (verdict != CommitFate.PENDING and not attempt.wrote):
            return False
        if verdict != CommitFate.PENDING:
            raise _error(why)
        if time.monotonic() >= deadline:
            raise _undecided() if attempt.wrote else busy(link.repo)
        with link.cache.talking(_PATIENCE) as mine:
            if mine and link.cache.fate(attempt.number)[0] == CommitFate.PENDING:
                push(link, deadline)


def is_current(link: GitConnection, base: str, started: float, deadline: float) -> bool:
    """Return whether the remote is at ``base``, as read after the reading ``started``."""
    while link.head().asked <= started:
        if time.monotonic() >= deadline:
            raise busy(link.repo)
        with link.cache.talking(_PATIENCE) as mine:
            if mine and link.head().asked <= started:
                link.ask(deadline)
                break
    return link.head().remote == base


def push(link: GitConnection, deadline: float) -> None:
    """Push pending commits and record their outcome; the caller holds the remote's lock."""
    _let_others_go_first(link, deadline)
    sent = tried = False
    while (left := deadline - time.monotonic()) > (_LEAST if tried else 0.0):
        tried = True
        reading = link.now_reading()
        try:
            head, outcome = link.push(time.monotonic() + left * _SHARE)
        except DibsError as error:
            if not sent:
                link.give_up(CommitFate.REFUSED, error, deadline)
                return
            outcome = PushOutcome.UNCLEAR
        if outcome == PushOutcome.LANDED:
            if head.pending:
                link.landed(head, reading, deadline)
                link.tidy(max(deadline, time.monotonic() + TIDYING))
            return
        sent = sent or outcome == PushOutcome.UNCLEAR
        if outcome == PushOutcome.LOCKED:
            if not link.remote.remove_stale_lock():
                pause(0.02, deadline)
            continue
        try:
            link.fetch(deadline)
        except DibsError as error:
            _give_up(link, error, deadline, sent=sent)
            return
        pause(0.005, deadline)
    _give_up(link, errors.too_slow(link.remote.place.url), deadline, sent=sent)


def _give_up(link: GitConnection, error: DibsError, deadline: float, *, sent: bool) -> None:
    verdict, told = (CommitFate.UNKNOWN, _undecided(error)) if sent else (CommitFate.REFUSED, error)
    link.give_up(verdict, told, max(deadline, time.monotonic() + 1.0))


def _let_others_go_first(link: GitConnection, deadline: float) -> None:
    """Pause after pushes that landed, so that other machines get a chance.

    The winner has the newest state and would win again and again, while the losers must first fetch
    and run their steps again. A machine cannot see others lose, so after pushing for a while it
    pauses. Meanwhile more of its commits accumulate for the next push.
    """
    head, reading = link.head(), link.now_reading()
    compete = reading - head.rival < _RIVALRY
    greedy = head.won - head.burst > _BURST
    gap = _GAP * head.cost - (reading - head.won)
    if gap > 0 and (compete or greedy):
        pause(gap, deadline)
        link.end_burst(deadline)


def _undecided(cause: DibsError | None = None) -> Unknown:
    told = f": {cause.message}" if cause else ""
    return Unknown(f"the remote did not confirm whether the change was applied{told}")


def _error(why: str) -> DibsError:
    if not why:
        return _undecided()
    name, message, code, hint = json.loads(why)
    kind = {"Misconfigured": Misconfigured, "Unknown": Unknown}.get(name, Unavailable)
    return kind(message, code=code, hint=hint)
