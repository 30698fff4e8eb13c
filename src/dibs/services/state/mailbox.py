"""Messages in boxes, the groups that they go to, and how many an agent may send: rows of one transaction.

What Dibs itself says of claims is collected in the rows of a step, and written once at its end: a hundred
claims that run out together are one message. Who has ended is told nothing.
"""

from __future__ import annotations

from dibs.core.talk.limits import Bucket
from dibs.core.talk.mail import HUMANS, NAMED, MailKind, Message, wording
from dibs.core.talk.recipients import Group
from dibs.services.state.keys import BOX, GROUP, MAIL, RATE, UNREAD
from dibs.services.state.rows import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dibs.core.claims.rules import Ask, Claim, Lost
    from dibs.services.state.rows import Rows

#: What a holder is told of a claim that it lost; it hears of the others in another way, or has ended.
_LOSSES = {"expired": MailKind.EXPIRED, "revoked": MailKind.REVOKED, "void": MailKind.REVOKED}


def tell(
    rows: Rows, box: str, kind: str, patterns: tuple[str, ...], *, sender: str, **data: object
) -> None:
    """Let the owner of ``box`` know what became of claims; alike notices of one step become one."""
    extra = encode(data)
    rows.notices.setdefault((box, kind, sender, extra), []).extend(patterns)


def tell_loser(rows: Rows, agent: str, lost: Lost) -> None:
    """Let an agent know that a claim is no longer its own, unless it ended or gave it away itself."""
    kind = _LOSSES.get(lost.why)
    if kind is not None:
        tell(rows, agent, kind, (lost.pattern,), sender=lost.by, reason=lost.reason)


def tell_askers(
    rows: Rows, holder: str, asks: Sequence[Ask], *, why: str = "", heir: str = ""
) -> None:
    """Let those who asked for claims know that their holder has them no more."""
    extra = {"why": why} if why else {}
    if why == "transferred":
        extra["heir"] = heir
    for ask in asks:
        if ask.asker != heir:
            tell(rows, ask.asker, MailKind.RELEASED, (ask.pattern,), sender=holder, **extra)


def tell_heir(rows: Rows, giver: str, handed: Sequence[Claim]) -> None:
    """Let an agent know that it holds what another held before."""
    texts = tuple(claim.pattern for claim in handed)
    heir, token = handed[0].agent, handed[0].token
    tell(rows, heir, MailKind.HANDED_OVER, texts, sender=giver, token=token)


def write_notices(rows: Rows) -> None:
    """Write what was collected by ``tell``; the step has written an event, which numbers it."""
    collected, rows.notices = rows.notices, {}
    for (box, kind, sender, extra), patterns in collected.items():
        if box == HUMANS or rows.beat(box) is not None:
            put(rows, notice(rows, box, kind, patterns, sender=sender, **decode(extra)))


def notice(
    rows: Rows, box: str, kind: str, patterns: Sequence[str], *, sender: str, **data: object
) -> Message:
    """Return what Dibs says to the owner of a box, as a message that is not put there yet."""
    from dibs.services.state.presence import role_of

    data["patterns"], data["count"] = list(patterns[:NAMED]), len(patterns)
    number = next_id(rows)
    text = wording(kind, sender, patterns, data)
    role = role_of(rows, sender) if sender else ""
    return Message(number, rows.now, sender, role, kind, text, box, (box,), number, data=data)


def next_id(rows: Rows) -> str:
    """Return the id of the next message of this step; it has written an event before."""
    seq, count = rows.posted
    if seq != rows.newest:
        count = 0
    rows.posted = (rows.newest, count + 1)
    return message_id(rows.newest, count)


def message_id(seq: int, place: int = 0) -> str:
    """Return the id of a message that came with the ledger entry ``seq``, the first or a later one."""
    return f"m{seq}.{place}" if place else f"m{seq}"


def row_of(message: str) -> str:
    """Return how rows name a message: so that their order is that of the messages."""
    seq, _, place = message.removeprefix("m").partition(".")
    return f"{int(seq):016d}.{int(place or 0):04d}"


def put(rows: Rows, message: Message) -> None:
    """Put a message into its boxes."""
    row = row_of(message.id)
    rows.txn.put(f"{MAIL}{row}", encode(message._asdict()))
    # Of unread mail it is known without a look at it whether somebody wrote it, or Dibs did.
    waits = '{"said":1}' if message.kind == MailKind.MESSAGE else "{}"
    for box in message.boxes:
        rows.txn.put(f"{BOX}{box}/{row}", "{}")
        rows.txn.put(f"{UNREAD}{box}/{row}", waits)


def rewrite(rows: Rows, message: Message) -> None:
    """Change what a message says that nobody was told of yet."""
    rows.txn.put(f"{MAIL}{row_of(message.id)}", encode(message._asdict()))


def message_at(rows: Rows, number: str) -> Message | None:
    """Return the message with this id, None if there is none or it was forgotten."""
    return message_in(rows, row_of(number))


def message_in(rows: Rows, row: str) -> Message | None:
    """Return the message that a row holds, None if there is none or it was forgotten."""
    value = rows.txn.get(f"{MAIL}{row}")
    return None if value is None else _message(value)


def _message(value: str) -> Message:
    record = decode(value)
    record["boxes"] = tuple(record["boxes"])
    return Message(**record)


def messages(rows: Rows) -> Iterator[Message]:
    """Yield all messages, the oldest first."""
    for _, value in rows.txn.scan((MAIL, "")):
        yield _message(value)


def state_of(rows: Rows, box: str, row: str) -> dict[str, Any] | None:
    """Return what became of a message in a box, None where it is not in it."""
    value = rows.txn.get(f"{BOX}{box}/{row}")
    found: dict[str, Any] | None = None if value is None else decode(value)
    return found


def mark(rows: Rows, box: str, row: str, **changes: object) -> None:
    """Note what became of a message in a box; what was noted before stays."""
    key = f"{BOX}{box}/{row}"
    state = rows.txn.get(key)
    if state is not None:
        rows.txn.put(key, encode({**decode(state), **changes}))


def box_rows(rows: Rows, box: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of each message in a box, and what became of it there."""
    prefix = f"{BOX}{box}/"
    for key, value in rows.txn.scan((prefix, "")):
        yield key.removeprefix(prefix), decode(value)


def mark_read(rows: Rows, box: str, row: str) -> None:
    """Note that the owner of a box has read a message in it; it no longer fills the box."""
    state = state_of(rows, box, row)
    if state is None or "read" in state:
        return
    mark(rows, box, row, read=rows.now)
    if rows.txn.get(f"{UNREAD}{box}/{row}") is not None:
        rows.txn.put(f"{UNREAD}{box}/{row}", "{}")


def mark_briefed(rows: Rows, box: str, row: str, number: int) -> None:
    """Note by which briefing the owner of a box was told of a message."""
    rows.txn.delete(f"{UNREAD}{box}/{row}")
    mark(rows, box, row, briefed=number)


def unread_rows(rows: Rows, box: str) -> Iterator[tuple[str, bool]]:
    """Yield the row of each message that waits for a briefing, and whether an agent said it."""
    prefix = f"{UNREAD}{box}/"
    for key, value in rows.txn.scan((prefix, "")):
        yield key.removeprefix(prefix), value != "{}"


def forget(rows: Rows, message: Message) -> None:
    """Forget a message, in all its boxes."""
    row = row_of(message.id)
    rows.txn.delete(f"{MAIL}{row}")
    for box in message.boxes:
        rows.txn.delete(f"{BOX}{box}/{row}")
        rows.txn.delete(f"{UNREAD}{box}/{row}")


def untold(rows: Rows, box: str, number: str) -> bool:
    """Tell whether the owner of a box has neither read a message in it, nor is being briefed of it."""
    from dibs.services.state.deliveries import get_offer

    row = row_of(number)
    if rows.txn.get(f"{UNREAD}{box}/{row}") is None or "read" in (state_of(rows, box, row) or {}):
        return False
    offers = (get_offer(rows, reader) for reader in (box, HUMANS))
    return not any(offer is not None and number in offer.mail for offer in offers)


def boxes_of(agent: str, *, human: bool) -> tuple[str, ...]:
    """Return the boxes that somebody reads."""
    return (agent, HUMANS) if human else (agent,)


# -- how many messages an agent may still send


def get_rate(rows: Rows, agent: str) -> Bucket | None:
    """Return how much an agent may still say, None if it has said nothing lately."""
    value = rows.txn.get(f"{RATE}{agent}")
    return None if value is None else Bucket(*decode(value))


def put_rate(rows: Rows, agent: str, bucket: Bucket) -> None:
    """Note how much an agent may still say."""
    rows.txn.put(f"{RATE}{agent}", encode(list(bucket)))


def forget_rates(rows: Rows, keep: float) -> None:
    """Forget how much agents may say of which nothing was heard for so long."""
    for key, value in list(rows.txn.scan((RATE, ""))):
        if Bucket(*decode(value)).at + keep <= rows.now:
            rows.txn.delete(key)


# -- groups


def groups(rows: Rows) -> dict[str, Group]:
    """Return all groups by their names."""
    listed = ((key.removeprefix(GROUP), value) for key, value in rows.txn.scan((GROUP, "")))
    return {name: _group(name, value) for name, value in listed}


def get_group(rows: Rows, name: str) -> Group | None:
    """Return the group of this name, which can be one."""
    value = rows.txn.get(f"{GROUP}{name}")
    return None if value is None else _group(name, value)


def put_group(rows: Rows, group: Group) -> None:
    """Write a group."""
    record = {"members": group.members, "roles": group.roles, "by": group.by, "at": group.at}
    rows.txn.put(f"{GROUP}{group.name}", encode(record))


def drop_group(rows: Rows, name: str) -> None:
    """Forget a group."""
    rows.txn.delete(f"{GROUP}{name}")


def _group(name: str, value: str) -> Group:
    record = decode(value)
    return Group(name, tuple(record["members"]), tuple(record["roles"]), record["by"], record["at"])
