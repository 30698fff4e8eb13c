"""Mail as lines of a briefing. Pure.

Notices of claims are our own words, with untrusted paths and reasons; what somebody said is untrusted text.
"""

from __future__ import annotations

from dibs.core.briefing.activity import NAMED, listed, reason_part, role_part, span, things
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN
from dibs.core.talk.mail import VITAL, MailKind, Priority
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.talk.mail import Message

#: How much of a message a briefing has; `dibs inbox` has all of it.
MESSAGE_SHOWN = 1_000

_RANK = {Priority.URGENT: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}
_LABELS = {
    Priority.URGENT: "URGENT ",
    Priority.HIGH: "high priority ",
    Priority.LOW: "low priority ",
}
#: The shortest form of a message, by its kind.
_BARE = {
    MailKind.RELEASE_REQUEST: "you are asked to release",
    MailKind.EXPIRED: "claims of yours ran out",
    MailKind.REVOKED: "claims of yours were revoked",
    MailKind.HANDED_OVER: "claims were handed to you",
}
#: A notice's label, what was done, and its end; the sender did what begins with a blank.
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


def _of_human(message: Message) -> bool:
    """Tell whether a human says something by this message."""
    return message.role == HUMAN and message.kind == MailKind.MESSAGE


def mail_sections(mail: Sequence[Message], now: float) -> tuple[list[Section], list[Section]]:
    """Return the mail that comes first, and the rest, the urgent before the old."""
    lines = {message.id: _line(message, now) for message in mail}
    vital = [message for message in mail if message.kind in VITAL]
    said = sorted(
        (message for message in mail if message.kind not in VITAL),
        key=lambda message: _RANK.get(message.priority, 2),
    )
    first = [lines[m.id] for m in (*vital, *filter(_of_human, said))]
    rest = [lines[m.id] for m in said if not _of_human(m)]
    return (
        [Section("FOR YOU NOW", tuple(first), volatile=True)] if first else [],
        [Section("MAIL", tuple(rest), volatile=True)] if rest else [],
    )


def _line(message: Message, now: float) -> Line:
    human, kind = _of_human(message), message.kind
    short = _BARE.get(kind) or _NOUNS.get(kind, "a message")
    bare = f"- {'HUMAN wrote' if human else short}: dibs inbox shows {message.id}"
    parts = _notice(message, now) or _said(message, now)
    return Line(message.id, parts, human or kind in VITAL, message.id, bare)


def _notice(message: Message, now: float) -> tuple[Part, ...]:
    """Return what happened to claims, where the message names them; nothing for another message."""
    patterns, data = things(message.data, "patterns"), message.data
    words = _of_claims(message)
    if not patterns or words is None:
        return ()
    label, verb, after = words
    count = data.get("count")
    count = max(len(patterns), count) if isinstance(count, int) else len(patterns)
    verb = verb.format(claims="claim" if count == 1 else "claims")
    origin = message.sender or "dibs"
    who = (word(message.sender, "dibs"),) if verb.startswith(" ") else ()
    reason = data.get("reason") or data.get("note")
    because = reason_part(reason, origin, ": ") if isinstance(reason, str) else ()
    told: tuple[Part, ...] = (
        f"- {label}",
        *who,
        verb,
        *listed(patterns, origin, count=count),
        after,
    )
    if message.kind != MailKind.RELEASE_REQUEST:
        return (*told, ShownTime(f" ({span(now - message.at)} ago)"), *because)
    until = None if data.get("promised") else data.get("until")
    within = (ShownTime(f" within {span(until - now)}"),) if isinstance(until, int | float) else ()
    return (*told, *within, *because, answer_hint(message.id))


def named(message: Message) -> Sequence[str]:
    """Return the patterns that the line of a notice names."""
    return things(message.data, "patterns")[:NAMED]


def _of_claims(message: Message) -> tuple[str, str, str] | None:
    """Return our words for a notice, None if its own text says it."""
    if message.kind == MailKind.REVOKED and not message.sender:
        return ("REVOKED: ", "your {claims} on ", " became void")
    if message.kind == MailKind.RELEASE_REQUEST and message.data.get("promised"):
        return ("RELEASE REQUEST: ", " still waits for ", ", which you promised by now")
    if message.kind == MailKind.RELEASED and message.data.get("why"):
        return None
    return _OF_CLAIMS.get(message.kind)


def answer_hint(message: str) -> str:
    """Return how a request is answered: by its message, for a pattern would have to be quoted."""
    return f" - answer: dibs answer {message if is_plain(message) else 'PATTERN'} yes|later|no"


def _said(message: Message, now: float) -> tuple[Part, ...]:
    """Return what somebody said: who, when, to whom, and the words."""
    sender, role = message.sender, message.role
    start = f"{_LABELS.get(message.priority, '')}{message.id}"
    origin = HUMAN if _of_human(message) else sender or "dibs"
    if _of_human(message):
        who: tuple[Part, ...] = (f"- HUMAN {start}",)
    elif sender:
        noun = _NOUNS.get(message.kind, "")
        who = (f"- {start} {noun and noun + ' '}from ", word(sender, "dibs"))
        who += (" (", role_part(role, sender), ")") if role else ()
    else:
        who = (f"- {start} {_NOUNS.get(message.kind, 'notice')}",)
    many = (" to ", word(message.to, origin)) if len(message.boxes) > 1 else ()
    reply = (", in reply to ", word(message.reply_to, origin)) if message.reply_to else ()
    ago = ShownTime(f", {span(now - message.at)} ago")
    text = UntrustedText(message.text, origin, MESSAGE_SHOWN)
    return (*who, *many, *reply, ago, *_acknowledge(message, now), ": ", text)


def _acknowledge(message: Message, now: float) -> tuple[Part, ...]:
    if not message.wants_ack:
        return ()
    within = (ShownTime(f" within {span(message.due - now)}"),) if message.due else ()
    return (", acknowledge it", *within, f" (dibs inbox --ack {message.id})")
