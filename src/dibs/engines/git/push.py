"""Getting commits of this machine onto the remote, for all of its processes at once.

Whoever holds the remote's lock pushes the tip, with everything below it that waits. The branch moves
only from where this machine last saw it. If another machine was first, what waits is dropped, and
every process runs its step again on the new state.
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

#: Seconds to look for a verdict between tries to become the one who pushes.
_PATIENCE = 0.02
#: How much of the time that is left a push may take; the rest is for finding out what became of it.
_SHARE = 0.6
#: Seconds without which a push is not tried again: one that has to be killed leaves a doubt.
_LEAST = 0.5
#: For so long after a commit of another machine was seen, a winner lets others go first.
_RIVALRY = 5.0
#: How many times as long as a push takes that is, and how long a machine pushes without any such pause.
_GAP = 1.0
_BURST = 0.5


def settle(link: GitConnection, attempt: StepResult, started: float, deadline: float) -> bool:
    """Tell whether what ``attempt`` rests on is on the remote; if not, the step has to run again."""
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
    """Tell whether the remote is at ``base``, as asked after the reading ``started``."""
    while link.head().asked <= started:
        if time.monotonic() >= deadline:
            raise busy(link.repo)
        with link.cache.talking(_PATIENCE) as mine:
            if mine and link.head().asked <= started:
                link.ask(deadline)
                break
    return link.head().remote == base


def push(link: GitConnection, deadline: float) -> None:
    """Push what waits, and tell its writers; the caller has claimed the remote."""
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
    """Wait a moment after pushes that landed, so that other machines get a chance.

    The winner has the newest state and would win again and again; who lost has to fetch and to run
    its steps first. Nobody sees that others lose, so a machine that pushes without a pause makes one now
    and then. Meanwhile more of its commits gather, to go with the next push.
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
