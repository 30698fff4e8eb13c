"""Rows of messages, inboxes, groups, and message limits.

Dibs's own notices about claims are collected during a step and written once at its end: a hundred
claims that expire together become one message. Agents that have ended receive nothing.
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
    from dibs.services.state.sessions import UnfinishedFile

#: The losses that an owner is notified of; it learns of others in another way, or has ended.
_LOSSES = {"expired": MailKind.EXPIRED, "revoked": MailKind.REVOKED, "void": MailKind.REVOKED}


def tell(
    rows: Rows, box: str, kind: str, patterns: tuple[str, ...], *, sender: str, **data: object
) -> None:
    """Notify the owner of ``box`` about claims; equal notices in one step become one."""
    extra = encode(data)
    rows.notices.setdefault((box, kind, sender, extra), []).extend(patterns)


def notify_loser(rows: Rows, agent: str, lost: Lost) -> None:
    """Notify an agent that it lost a claim, unless it has ended or gave the claim up itself."""
    kind = _LOSSES.get(lost.why)
    if kind is not None:
        extra = _expiry(rows, lost)
        tell(rows, agent, kind, (lost.pattern,), sender=lost.by, reason=lost.reason, **extra)


def notify_requesters(
    rows: Rows, holder: str, asks: Sequence[Ask], lost: Lost | None = None
) -> None:
    """Notify the agents that requested claims that the owner released them, or how it ``lost`` them."""
    extra: dict[str, object] = {"why": lost.why, **_expiry(rows, lost)} if lost else {}
    heir = lost.by if lost else ""
    if lost and lost.why == "transferred":
        extra["heir"] = heir
    for ask in asks:
        if ask.asker != heir:
            tell(rows, ask.asker, MailKind.RELEASED, (ask.pattern,), sender=holder, **extra)


def _expiry(rows: Rows, lost: Lost) -> dict[str, object]:
    """Return when a claim expired, and how long before now if not just now."""
    if lost.why != "expired":
        return {}
    from dibs.core.text.durations import show_span

    ago = round(rows.now - lost.at)
    return {"expired_at": lost.at, **({"span": show_span(ago)} if ago > 0 else {})}


def notify_new_owner(
    rows: Rows, giver: str, handed: Sequence[Claim], left: Sequence[UnfinishedFile]
) -> None:
    """Notify an agent that it now holds what another agent held, and what that left uncommitted."""
    texts = tuple(claim.pattern for claim in handed)
    heir, token = handed[0].agent, handed[0].token
    extra: dict[str, object] = {}
    if left:
        about = left[0].shown(rows.now).about
        extra["reason"] = f"it has {left[0].agent}'s uncommitted changes: {about}"
    tell(rows, heir, MailKind.HANDED_OVER, texts, sender=giver, token=token, **extra)


def write_notices(rows: Rows) -> None:
    """Write the notices collected by ``tell``; the step has emitted an event, which numbers them."""
    collected, rows.notices = rows.notices, {}
    for (box, kind, sender, extra), patterns in collected.items():
        if box == HUMANS or rows.beat(box) is not None:
            put(rows, notice(rows, box, kind, patterns, sender=sender, **decode(extra)))


def notice(
    rows: Rows, box: str, kind: str, patterns: Sequence[str], *, sender: str, **data: object
) -> Message:
    """Return a notice from Dibs to the owner of an inbox, as a message that is not stored yet."""
    from dibs.services.state.presence import role_of

    data["patterns"], data["count"] = list(patterns[:NAMED]), len(patterns)
    number = next_id(rows)
    text = wording(kind, sender, patterns, data)
    role = role_of(rows, sender) if sender else ""
    return Message(number, rows.now, sender, role, kind, text, box, (box,), data=data)


def recipient(rows: Rows, to: str) -> dict[str, str]:
    """Return the recipient of a message to one agent, for the details of its ledger entry."""
    known = rows.agent(to)
    return {} if known is None else {"toAgentId": known.id, "toRole": known.role}


def next_id(rows: Rows) -> str:
    """Return the id of this step's next message; the step has emitted an event."""
    seq, count = rows.posted
    if seq != rows.newest:
        count = 0
    rows.posted = (rows.newest, count + 1)
    return message_id(rows.newest, count)


def message_id(seq: int, place: int = 0) -> str:
    """Return the id of a message sent with the ledger entry ``seq``; ``place`` tells several apart."""
    return f"m{seq}.{place}" if place else f"m{seq}"


def row_of(message: str) -> str:
    """Return a message's id in keys, which sorts chronologically."""
    seq, _, place = message.removeprefix("m").partition(".")
    return f"{int(seq):016d}.{int(place or 0):04d}"


def put(rows: Rows, message: Message) -> None:
    """Put a message into its inboxes."""
    row = row_of(message.id)
    rows.txn.put(f"{MAIL}{row}", encode(message._asdict()))
    # Marks unread messages as from an agent or from Dibs, so that no one has to read the message itself.
    waits = '{"said":1}' if message.kind == MailKind.MESSAGE else "{}"
    for box in message.boxes:
        rows.txn.put(f"{BOX}{box}/{row}", "{}")
        rows.txn.put(f"{UNREAD}{box}/{row}", waits)


def rewrite(rows: Rows, message: Message) -> None:
    """Change the text of a message that no one has received yet."""
    rows.txn.put(f"{MAIL}{row_of(message.id)}", encode(message._asdict()))


def message_at(rows: Rows, number: str) -> Message | None:
    """Return the message with this id; None if it does not exist anymore."""
    return message_in(rows, row_of(number))


def message_in(rows: Rows, row: str) -> Message | None:
    """Return the message in a row; None if it does not exist anymore."""
    value = rows.txn.get(f"{MAIL}{row}")
    return None if value is None else _message(value)


def _message(value: str) -> Message:
    record = decode(value)
    record["boxes"] = tuple(record["boxes"])
    return Message(**record)


def messages(rows: Rows) -> Iterator[Message]:
    """Yield all messages, oldest first."""
    for _, value in rows.txn.scan((MAIL, "")):
        yield _message(value)


def state_of(rows: Rows, box: str, row: str) -> dict[str, Any] | None:
    """Return the state of a message in an inbox; None if it is not in it."""
    value = rows.txn.get(f"{BOX}{box}/{row}")
    found: dict[str, Any] | None = None if value is None else decode(value)
    return found


def mark(rows: Rows, box: str, row: str, **changes: object) -> None:
    """Add to the state of a message in an inbox; keep what was recorded before."""
    key = f"{BOX}{box}/{row}"
    state = rows.txn.get(key)
    if state is not None:
        rows.txn.put(key, encode({**decode(state), **changes}))


def box_rows(rows: Rows, box: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of each message in an inbox, and its state there."""
    prefix = f"{BOX}{box}/"
    for key, value in rows.txn.scan((prefix, "")):
        yield key.removeprefix(prefix), decode(value)


def mark_read(rows: Rows, box: str, row: str) -> None:
    """Record that the owner of an inbox read a message; it no longer counts against the inbox's limit."""
    state = state_of(rows, box, row)
    if state is None or "read" in state:
        return
    mark(rows, box, row, read=rows.now)
    if rows.txn.get(f"{UNREAD}{box}/{row}") is not None:
        rows.txn.put(f"{UNREAD}{box}/{row}", "{}")


def settle(rows: Rows, box: str, number: str) -> None:
    """Record that a message needs nobody's attention any more: it is read, and no briefing delivers it."""
    row = row_of(number)
    mark_read(rows, box, row)
    rows.txn.delete(f"{UNREAD}{box}/{row}")


def mark_briefed(rows: Rows, box: str, row: str, number: int) -> None:
    """Record which briefing delivered a message to the owner of an inbox."""
    rows.txn.delete(f"{UNREAD}{box}/{row}")
    mark(rows, box, row, briefed=number)


def unread_rows(rows: Rows, box: str) -> Iterator[tuple[str, bool]]:
    """Yield the row of each message that no briefing has delivered, and whether an agent wrote it."""
    prefix = f"{UNREAD}{box}/"
    for key, value in rows.txn.scan((prefix, "")):
        yield key.removeprefix(prefix), value != "{}"


def forget(rows: Rows, message: Message) -> None:
    """Delete a message from all its inboxes."""
    row = row_of(message.id)
    rows.txn.delete(f"{MAIL}{row}")
    for box in message.boxes:
        rows.txn.delete(f"{BOX}{box}/{row}")
        rows.txn.delete(f"{UNREAD}{box}/{row}")


def is_undelivered(rows: Rows, box: str, number: str) -> bool:
    """Return whether the owner of an inbox has neither read a message nor is receiving it in a briefing."""
    from dibs.services.state.deliveries import get_offer

    row = row_of(number)
    if rows.txn.get(f"{UNREAD}{box}/{row}") is None or "read" in (state_of(rows, box, row) or {}):
        return False
    offers = (get_offer(rows, reader) for reader in (box, HUMANS))
    return not any(offer is not None and number in offer.mail for offer in offers)


def boxes_of(agent: str, *, human: bool) -> tuple[str, ...]:
    """Return the inboxes that someone reads."""
    return (agent, HUMANS) if human else (agent,)


# -- message limits


def get_rate(rows: Rows, agent: str) -> Bucket | None:
    """Return how much an agent may still send; None if it sent nothing recently."""
    value = rows.txn.get(f"{RATE}{agent}")
    return None if value is None else Bucket(*decode(value))


def put_rate(rows: Rows, agent: str, bucket: Bucket) -> None:
    """Store how much an agent may still send."""
    rows.txn.put(f"{RATE}{agent}", encode(list(bucket)))


def forget_rates(rows: Rows, keep: float) -> None:
    """Delete the limits of agents that sent nothing for ``keep`` seconds."""
    for key, value in list(rows.txn.scan((RATE, ""))):
        if Bucket(*decode(value)).at + keep <= rows.now:
            rows.txn.delete(key)


# -- groups


def groups(rows: Rows) -> dict[str, Group]:
    """Return all groups by name."""
    listed = ((key.removeprefix(GROUP), value) for key, value in rows.txn.scan((GROUP, "")))
    return {name: _group(name, value) for name, value in listed}


def get_group(rows: Rows, name: str) -> Group | None:
    """Return the group with this name, which must be valid."""
    value = rows.txn.get(f"{GROUP}{name}")
    return None if value is None else _group(name, value)


def put_group(rows: Rows, group: Group) -> None:
    """Write a group."""
    record = {"members": group.members, "roles": group.roles, "by": group.by, "at": group.at}
    rows.txn.put(f"{GROUP}{group.name}", encode(record))


def drop_group(rows: Rows, name: str) -> None:
    """Delete a group."""
    rows.txn.delete(f"{GROUP}{name}")


def _group(name: str, value: str) -> Group:
    record = decode(value)
    return Group(name, tuple(record["members"]), tuple(record["roles"]), record["by"], record["at"])
