"""Mail as lines of a briefing. Pure.

What Dibs tells of claims is said in our own words, with the paths and reasons in it as text of others; what
somebody said is text of others as a whole.
"""

from __future__ import annotations

from dibs.core.briefing.activity import NAMED, listed, role_part, things
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN
from dibs.core.talk.mail import VITAL, MailKind, Priority
from dibs.core.text.durations import show_span
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.talk.mail import Message

#: How much of a message a briefing has; `dibs inbox` has all of it.
MESSAGE_SHOWN = 1_000
_REASON_SHOWN = 200

_RANK = {Priority.URGENT: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}
_LABELS = {
    Priority.URGENT: "URGENT ",
    Priority.HIGH: "high priority ",
    Priority.LOW: "low priority ",
}
#: What the shortest form of a line says of messages that must be told.
_BARE = {
    MailKind.RELEASE_REQUEST: "you are asked to release",
    MailKind.EXPIRED: "claims of yours ran out",
    MailKind.REVOKED: "claims of yours were revoked",
    MailKind.HANDED_OVER: "claims were handed to you",
}
_OF_CLAIMS = {
    MailKind.RELEASE_REQUEST: ("RELEASE REQUEST: ", " asks you for ", ""),
    MailKind.EXPIRED: ("EXPIRED: ", "your {claims} on ", " ran out"),
    MailKind.REVOKED: ("REVOKED: ", " revoked your {claims} on ", ""),
    MailKind.HANDED_OVER: ("HANDED OVER: ", " handed you ", ""),
    MailKind.RELEASED: ("", " gave back ", ", which you asked for"),
}
_NOUNS = {
    MailKind.DELEGATED: "work delegated",
    MailKind.ANSWER: "answer",
    MailKind.FORECAST: "conflict ahead",
    MailKind.DECISION: "decision",
    MailKind.ACKNOWLEDGED: "acknowledged",
    MailKind.OVERDUE: "not acknowledged in time",
}


def span(seconds: float) -> str:
    """Return a span to the second; what has passed is nothing."""
    return show_span(max(0, round(seconds)))


def of_human(message: Message) -> bool:
    """Tell whether a human says something by this message."""
    return message.role == HUMAN and message.kind == MailKind.MESSAGE


def mail_sections(mail: Sequence[Message], now: float) -> tuple[list[Section], list[Section]]:
    """Return what has to come first of the mail, and the rest; the urgent before the old."""
    vital = [_line(message, now) for message in mail if message.kind in VITAL]
    said = _by_priority([message for message in mail if message.kind not in VITAL])
    human = [_line(message, now) for message in said if of_human(message)]
    rest = [_line(message, now) for message in said if not of_human(message)]
    first = (*vital, *human)
    return (
        [Section("FOR YOU NOW", first, volatile=True)] if first else [],
        [Section("MAIL", tuple(rest), volatile=True)] if rest else [],
    )


def _by_priority(mail: Sequence[Message]) -> list[Message]:
    return sorted(mail, key=lambda message: _RANK.get(message.priority, 2))


def _line(message: Message, now: float) -> Line:
    parts = _notice(message, now) if message.kind != MailKind.MESSAGE else ()
    said = parts or _said(message, now)
    bare = f"- {_bare(message)}: dibs inbox shows {message.id}"
    must = message.kind in VITAL or of_human(message)
    return Line(message.id, said, must, message.id, bare)


def _bare(message: Message) -> str:
    if of_human(message):
        return "HUMAN wrote"
    return _BARE.get(message.kind) or _NOUNS.get(message.kind, "a message")


def _notice(message: Message, now: float) -> tuple[Part, ...]:
    """Return what became of claims, where the message names them; nothing for another message."""
    named = things(message.data, "patterns")
    words = _of_claims(message)
    if not named or words is None:
        return ()
    label, verb, after = words
    count = message.data.get("count")
    count = max(len(named), count) if isinstance(count, int) else len(named)
    verb = verb.format(claims="claim" if count == 1 else "claims")
    who = (word(message.sender, "dibs"),) if verb.startswith(" ") else ()
    what = listed(named, message.sender or "dibs", count=count)
    told: tuple[Part, ...] = (f"- {label}", *who, verb, *what, after)
    if message.kind == MailKind.RELEASE_REQUEST:
        return (*told, *_until(message, now), *_because(message), answer_hint(message.id))
    return (*told, ShownTime(f" ({span(now - message.at)} ago)"), *_because(message))


def named(message: Message) -> Sequence[str]:
    """Return the patterns that the line of a notice names."""
    return things(message.data, "patterns")[:NAMED]


def _of_claims(message: Message) -> tuple[str, str, str] | None:
    """Return our words for a notice: its label, what was done, the end.

    What a blank begins was done by the sender.
    """
    if message.kind == MailKind.REVOKED and not message.sender:
        return ("REVOKED: ", "your {claims} on ", " became void")
    if message.kind == MailKind.RELEASE_REQUEST and message.data.get("promised"):
        return ("RELEASE REQUEST: ", " still waits for ", ", which you promised by now")
    if message.kind == MailKind.RELEASED and message.data.get("why"):
        return None  # it ended in a way that its text tells
    return _OF_CLAIMS.get(message.kind)


def _because(message: Message) -> tuple[Part, ...]:
    reason = message.data.get("reason") or message.data.get("note")
    if not isinstance(reason, str) or not reason:
        return ()
    return (": ", UntrustedText(reason, message.sender or "dibs", _REASON_SHOWN))


def _until(message: Message, now: float) -> tuple[Part, ...]:
    until = None if message.data.get("promised") else message.data.get("until")
    return (ShownTime(f" within {span(until - now)}"),) if isinstance(until, int | float) else ()


def answer_hint(message: str) -> str:
    """Return how a request is answered: by its message, for a pattern would have to be quoted."""
    return f" - answer: dibs answer {message if is_plain(message) else 'PATTERN'} yes|later|no"


def _said(message: Message, now: float) -> tuple[Part, ...]:
    """Return what somebody said: who, when, to whom, and the words."""
    origin = HUMAN if of_human(message) else message.sender or "dibs"
    text = UntrustedText(message.text, origin, MESSAGE_SHOWN)
    label = _LABELS.get(message.priority, "")
    if of_human(message):
        who: tuple[Part, ...] = (f"- HUMAN {label}{message.id}",)
    elif message.sender:
        noun = _NOUNS.get(message.kind, "")
        role = role_part(message.role, message.sender)
        who = (f"- {label}{message.id} {noun and noun + ' '}from ", word(message.sender, "dibs"))
        who += (" (", role, ")") if message.role else ()
    else:
        who = (f"- {label}{message.id} {_NOUNS.get(message.kind, 'notice')}",)
    many = (" to ", word(message.to, origin)) if len(message.boxes) > 1 else ()
    reply = (", in reply to ", word(message.reply_to, origin)) if message.reply_to else ()
    ago = ShownTime(f", {span(now - message.at)} ago")
    return (*who, *many, *reply, ago, *_wanted(message, now), ": ", text)


def _wanted(message: Message, now: float) -> tuple[Part, ...]:
    if not message.wants_ack:
        return ()
    within = (ShownTime(f" within {span(message.due - now)}"),) if message.due else ()
    return (", acknowledge it", *within, f" (dibs inbox --ack {message.id})")
