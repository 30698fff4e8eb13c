"""Send a message: resolve its recipients, check limits, write it and its ledger entry."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, check_speaker
from dibs.core.claims.ledger import Kind
from dibs.core.talk.limits import MAX_UNREAD, check_message, draw
from dibs.core.talk.mail import MailKind, Message
from dibs.core.talk.recipients import Addressed, resolve
from dibs.errors import NotFound, Unavailable
from dibs.services.state import mailbox
from dibs.services.state.idempotency import answered, remember
from dibs.services.state.presence import arrive
from dibs.services.talk.groups import crew_of
from dibs.services.talk.mail import check_id, concerns, need, no_message
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows

#: How much of a message the ledger entry shows.
HEADLINE = 80


class Saying(Record):
    """A message to send."""

    to: str
    text: str
    reply_to: str = ""


def check(saying: Saying) -> Saying:
    """Return a valid message with secrets masked; refuse an invalid one before any lookup."""
    return saying._replace(
        text=check_message(saying.text), reply_to=saying.reply_to and check_id(saying.reply_to)
    )


def say(rows: Rows, caller: Caller, saying: Saying, request_id: str) -> Message:
    """Send a message, unless a request with this id was already carried out."""
    asked = _fingerprint(saying)
    if request_id:
        earlier = answered(rows, caller.id, request_id, asked)
        if earlier is not None:
            return need(rows, earlier[0])
    message = _say(rows, caller, saying)
    if request_id:
        remember(rows, caller.id, request_id, asked, [message.id])
    return message


def _fingerprint(saying: Saying) -> str:
    from hashlib import sha256

    said = sha256(saying.text.encode()).hexdigest()
    rest = saying._replace(text=said)
    return "\n".join(["say", *map(str, rest)])


def _say(rows: Rows, caller: Caller, saying: Saying) -> Message:
    check_speaker(caller)
    reported = arrive(rows, caller).role
    role = HUMAN if caller.human else reported
    _draw(rows, caller.id)
    answered_to = _answered(rows, caller, saying.reply_to)
    addressed = _addressed(rows, caller, saying, answered_to)
    boxes, full = _with_room(rows, addressed.boxes)
    first = " ".join(saying.text.split())[:HEADLINE]
    kind = Kind.GROUP_MESSAGE if addressed.many else Kind.MESSAGE_SENT
    rows.emit(
        caller.id, role, kind, f"{caller.id} to {addressed.to}: {first}",
        to=addressed.to, reply_to=saying.reply_to,
        **mailbox.recipient(rows, "" if addressed.many else addressed.to),
    )  # fmt: skip
    number = mailbox.next_id(rows)
    ended = [box for box in addressed.ended if box in boxes]
    message = Message(
        number, rows.now, caller.id, role, MailKind.MESSAGE, saying.text, addressed.to, boxes,
        saying.reply_to, {key: names for key, names in (("ended", ended), ("full", full)) if names},
    )  # fmt: skip
    mailbox.put(rows, message)
    return message


def _draw(rows: Rows, agent: str) -> None:
    """Count one message against the agent's rate limit; refuse it if the limit is reached."""
    mailbox.put_rate(rows, agent, draw(mailbox.get_rate(rows, agent), rows.now))


def _answered(rows: Rows, caller: Caller, number: str) -> Message | None:
    if not number:
        return None
    message = need(rows, number)
    if not concerns(message, caller):
        raise no_message(number)
    return message


def _addressed(rows: Rows, caller: Caller, saying: Saying, to: Message | None) -> Addressed:
    crew = crew_of(rows)
    if saying.to or to is None:
        return resolve(saying.to, caller, crew)
    if to.sender == caller.id:  # a follow-up to one's own message
        return resolve(to.to, caller, crew)
    if not to.sender:
        message = f"{to.id} is a notice from Dibs: nobody would read a reply"
        raise NotFound(message, code="NO_ADDRESSEE", field="reply_to")
    return resolve(HUMAN if to.role == HUMAN else f"agent:{to.sender}", caller, crew)


def _with_room(rows: Rows, boxes: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the boxes with room and the full ones; refuse if all are full."""
    room: list[str] = []
    full: list[str] = []
    for box in boxes:
        (room if _unread(rows, box) < MAX_UNREAD else full).append(box)
    if not room:
        raise Unavailable(
            f"{full[0].removeprefix('@')}'s inbox is full ({MAX_UNREAD} unread messages)",
            code="BOX_FULL",
            hint="retry after it has read some with `dibs inbox`",
        )
    return tuple(room), full


def _unread(rows: Rows, box: str) -> int:
    """Count a box's messages from agents that were neither read nor delivered by a briefing."""
    return sum(said for _, said in mailbox.unread_rows(rows, box))
