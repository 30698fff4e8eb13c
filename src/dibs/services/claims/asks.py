"""Release requests: filed with the holder, told to it by mail, and put anew when they are repeated."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import MailKind
from dibs.services.state import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.rules import Ask
    from dibs.services.state.rows import Rows


def put_asks(rows: Rows, role: str, asks: Sequence[Ask]) -> list[Ask]:
    """File release requests of one asker; each holder gets one message for all that it is asked for."""
    by_holder: dict[str, list[Ask]] = {}
    for ask in asks:
        by_holder.setdefault(ask.holder, []).append(ask)
    filed: list[Ask] = []
    for holder, group in by_holder.items():
        for ask in group:
            _emit(rows, role, ask)
        number = _told(rows, holder, group)
        named = [ask._replace(id=number) for ask in group]
        for ask in named:
            rows.put_ask(ask)
        filed += named
    return filed


def _told(rows: Rows, holder: str, asks: Sequence[Ask]) -> str:
    """Tell the holder, and return by which message: its last one, while it has not been told of that."""
    first = asks[0]
    promised = {"promised": first.promised} if first.promised else {}
    message = mailbox.notice(
        rows, holder, MailKind.RELEASE_REQUEST, [ask.pattern for ask in asks],
        sender=first.asker, until=first.until, reason=first.note, **promised,
    )  # fmt: skip
    earlier = _waiting(rows, holder, asks)
    if earlier:
        mailbox.rewrite(rows, message._replace(id=earlier, thread=earlier))
        return earlier
    mailbox.put(rows, message)
    return message.id


def _waiting(rows: Rows, holder: str, asks: Sequence[Ask]) -> str:
    """Return the message that asked for the same before and still waits, an empty text if none does."""
    asker, wanted = asks[0].asker, {ask.pattern for ask in asks}
    before = {a.pattern: a.id for _, a in rows.asks(holder) if a.asker == asker and a.id}
    ids = {before.get(pattern, "") for pattern in wanted}
    number = ids.pop()
    same = not ids and number and {p for p, i in before.items() if i == number} == wanted
    return number if same and mailbox.untold(rows, holder, number) else ""


def _emit(rows: Rows, role: str, ask: Ask) -> None:
    again = ", which it promised by now" if ask.promised else ""
    rows.emit(
        ask.asker, role, Kind.RELEASE_REQUESTED,
        f"{ask.asker} asks {ask.holder} for {ask.pattern}{again}" + (f": {ask.note}" if ask.note else ""),
        pattern=ask.pattern, holder=ask.holder, until=ask.until, note=ask.note,
    )  # fmt: skip
