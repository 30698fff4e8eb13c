"""How much can be said: how long a message is, how many come in a minute, how many wait unread. Pure."""

from __future__ import annotations

import math

from dibs.core.talk.mail import MAX_MESSAGE, MailKind, Priority
from dibs.core.text.names import quote
from dibs.errors import BadInput, Unavailable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.mail import Message

#: How many messages of agents a box holds that its owner has neither read nor been briefed of.
MAX_UNREAD = 1_000
#: Within how long an acknowledgement can be asked for.
ACK_MIN, ACK_MAX = 1.0, 2_592_000.0
_MINUTE = 60.0


def check_message(text: str) -> str:
    """Return the text of a message with its secrets masked; refuse an empty or a too long one."""
    from dibs.core.text.secrets import storable

    if not text.strip():
        raise BadInput("the message has no text", code="TEXT_EMPTY", field="text")
    if len(text) > MAX_MESSAGE:
        raise BadInput(
            f"the message has {len(text)} characters: at most {MAX_MESSAGE}",
            code="LIMIT",
            field="text",
            hint="write it into a file, and say where it is",
        )
    return storable(text)


def check_priority(word: str) -> str:
    """Return a priority that there is."""
    if word not in list(Priority):
        message = f"{quote(word)} is no priority: use {', '.join(Priority)}"
        raise BadInput(message, code="PRIORITY", field="priority")
    return word


class Bucket(Record):
    """How many messages an agent may still send, as of a moment."""

    left: float
    at: float


def draw(bucket: Bucket | None, now: float, rate: int) -> Bucket:
    """Return the bucket after one more message; refuse it where none is left, and say for how long.

    A bucket fills evenly and holds what a minute allows, so that a burst is fine and a flood is not.
    """
    left = float(rate)
    if bucket is not None:
        gained = max(0.0, now - bucket.at) * rate / _MINUTE
        left = min(left, bucket.left + gained)
    # A whisker below one is one: adding up a minute in small parts loses a little of it.
    if left < 1 - 1e-9:
        seconds = max(1, math.ceil((1 - left) * _MINUTE / rate))
        raise Unavailable(
            f"you have sent {rate} messages within a minute: try again in {seconds} s",
            code="RATE_LIMITED",
            hint="say it in one message; mail.rate in dibs.toml is the limit",
        )
    return Bucket(max(0.0, left - 1), now)


def forgettable(message: Message, now: float, keep: float, *, told: bool, crowded: bool) -> bool:
    """Tell whether a message need not be kept: it is old, and all to whom it went were told.

    What Dibs itself said goes, too, where nobody reads a box and it is ``crowded``: it has no other limit.
    """
    old = message.at + keep <= now and message.due <= now
    return old and (told or (crowded and message.kind != MailKind.MESSAGE))
