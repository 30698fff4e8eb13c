"""Promises of holders: ``later`` names a moment, and if it passes in vain both sides hear of it, once.

A promise is a deadline for each asker that was answered. It names its moment, so that one which was replaced
by another answer, or by a new request, does nothing when it comes.
"""

from __future__ import annotations

from dibs.core.claims.ladder import BROKEN, Reply
from dibs.core.claims.rules import live
from dibs.core.talk.mail import MailKind
from dibs.services.claims.asks import put_asks
from dibs.services.state import deadlines
from dibs.services.state.mailbox import tell
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Ask
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How promises are filed as deadlines.
PROMISE = "promise"


def expect(rows: Rows, ask: Ask) -> None:
    """Let somebody look, at the moment that was promised to an asker, whether the promise was kept."""
    moment = deadlines.mark(ask.promised)
    deadlines.put(rows, ask.promised, PROMISE, f"{moment}/{ask.holder}/{ask.asker}")


def remind(_: Store, rows: Rows, id_: str) -> None:
    """Ask the holder again for what it promised and still has, and tell the asker that it has it."""
    moment, holder, asker = id_.split("/")
    asks = [
        ask
        for _, ask in rows.asks(holder)
        if (ask.asker, ask.answer, deadlines.mark(ask.promised)) == (asker, Reply.LATER, moment)
    ]
    if not asks or rows.beat(asker) is None:
        return
    seen = rows.seen(holder)
    held = {
        rows.pattern(claim.pattern).key
        for _, claim in claims_of(rows, holder)
        if live(claim, seen, rows.now)
    }
    late = [ask for ask in asks if rows.pattern(ask.pattern).key in held]
    if late:
        put_asks(rows, role_of(rows, asker), late)
        patterns = tuple(ask.pattern for ask in late)
        tell(rows, asker, MailKind.ANSWER, patterns, sender=holder, answer=BROKEN)
