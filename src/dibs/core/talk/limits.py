"""Limits for messages: length, rate, and number of unread messages. Pure."""

from __future__ import annotations

import math

from dibs.core.talk.mail import MAX_MESSAGE, MailKind
from dibs.errors import BadInput, Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.mail import Message

#: How many messages from agents may wait unread in a box.
MAX_UNREAD = 1_000
#: How many messages an agent may send per minute.
RATE = 60
#: How long a message is kept after all recipients have received it, in seconds; unread ones are always kept.
KEEP = 604_800.0
_MINUTE = 60.0


def check_message(text: str) -> str:
    """Return the text of a message with secrets masked; refuse one that is empty or too long."""
    from dibs.core.text.secrets import storable

    if not text.strip():
        raise BadInput("the message is empty", code="TEXT_EMPTY", field="text")
    if len(text) > MAX_MESSAGE:
        raise BadInput(
            f"the message has {len(text)} characters (limit: {MAX_MESSAGE})",
            code="LIMIT",
            field="text",
            hint="put it in a file and send the path",
        )
    return storable(text)


class Bucket(Record):
    """How many messages an agent may still send, at a point in time."""

    left: float
    at: float


def draw(bucket: Bucket | None, now: float) -> Bucket:
    """Return the bucket after one more message; refuse the message if the bucket is empty.

    A bucket fills evenly and holds one minute's messages, which allows bursts but no floods.
    """
    left = float(RATE)
    if bucket is not None:
        gained = max(0.0, now - bucket.at) * RATE / _MINUTE
        left = min(left, bucket.left + gained)
    # Tolerate rounding: a minute added up in small parts loses a little.
    if left < 1 - 1e-9:
        seconds = max(1, math.ceil((1 - left) * _MINUTE / RATE))
        raise Unavailable(
            f"you sent {RATE} messages within a minute; retry in {seconds}s",
            code="RATE_LIMITED",
            hint="combine them into one message",
        )
    return Bucket(max(0.0, left - 1), now)


def forgettable(message: Message, now: float, *, told: bool, crowded: bool) -> bool:
    """Return whether a message can be deleted: it is old, and was delivered to every recipient.

    Undelivered notices are deleted too if the box is ``crowded``: they have no other limit.
    """
    old = message.at + KEEP <= now
    return old and (told or (crowded and message.kind != MailKind.MESSAGE))
