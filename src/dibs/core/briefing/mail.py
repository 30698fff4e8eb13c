"""Messages as lines of a briefing. Pure.

Notices about claims are our own text with untrusted paths and reasons; message text is untrusted.
"""

from __future__ import annotations

from dibs.core.briefing.activity import NAMED, listed, reason_part, role_part, span, things
from dibs.core.briefing.page import Line, Section
from dibs.core.claims.agents import HUMAN
from dibs.core.talk.mail import VITAL, MailKind, happened
from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, is_plain, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.talk.mail import Message

#: How much of a message a briefing shows; `dibs inbox` shows all of it.
MESSAGE_SHOWN = 1_000

#: The shortest form of a message, by its kind.
_BARE = {
    MailKind.RELEASE_REQUEST: "release request",
    MailKind.EXPIRED: "your claims expired",
    MailKind.REVOKED: "your claims were revoked",
    MailKind.HANDED_OVER: "claims were transferred to you",
    MailKind.FOREIGN_WRITE: "a file changed",
    MailKind.TURN: "your turn in the queue",
}
#: A notice's label, verb, and ending; the sender is the subject of a verb that starts with a blank.
_OF_CLAIMS = {
    MailKind.RELEASE_REQUEST: ("RELEASE REQUEST: ", " requested ", ""),
    MailKind.EXPIRED: ("EXPIRED: ", "your {claims} on ", " expired"),
    MailKind.REVOKED: ("REVOKED: ", " revoked your {claims} on ", ""),
    MailKind.HANDED_OVER: ("TRANSFERRED: ", " transferred ", " to you"),
    MailKind.RELEASED: ("", " released ", ", which you requested"),
}
_NOUNS = {
    MailKind.DELEGATED: "delegated task",
    MailKind.ANSWER: "reply",
    MailKind.FORECAST: "predicted conflict",
    MailKind.DECISION: "decision",
    MailKind.TESTS: "test result",
    MailKind.SUMMARY: "finished task",
}


def _of_human(message: Message) -> bool:
    """Return whether a human wrote this message."""
    return message.role == HUMAN and message.kind == MailKind.MESSAGE


def mail_sections(mail: Sequence[Message], now: float) -> tuple[list[Section], list[Section]]:
    """Return the messages that come first, and the rest, oldest first."""
    lines = {message.id: _line(message, now) for message in mail}
    vital = [message for message in mail if message.kind in VITAL]
    said = [message for message in mail if message.kind not in VITAL]
    first = [lines[m.id] for m in (*vital, *filter(_of_human, said))]
    rest = [lines[m.id] for m in said if not _of_human(m)]
    return (
        [Section("FOR YOU NOW", tuple(first), volatile=True)] if first else [],
        [Section("MESSAGES", tuple(rest), volatile=True)] if rest else [],
    )


def _line(message: Message, now: float) -> Line:
    human, kind = _of_human(message), message.kind
    short = _BARE.get(kind) or _NOUNS.get(kind, "a message")
    bare = f"- {'HUMAN wrote' if human else short}: `dibs inbox {message.id}`"
    parts = _notice(message, now) or _said(message, now)
    return Line(message.id, parts, human or kind in VITAL, message.id, bare)


def _notice(message: Message, now: float) -> tuple[Part, ...]:
    """Return a notice about claims as parts; nothing for any other message."""
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
        return (*told, ShownTime(f" ({span(now - happened(message))} ago)"), *because)
    until = None if data.get("promised") else data.get("until")
    if isinstance(until, int | float):
        told = (*told, ShownTime(f", needed within {span(until - now)}"))
    return (*told, *because, answer_hint(message.id))


def named(message: Message) -> Sequence[str]:
    """Return the patterns that a notice's line names."""
    return things(message.data, "patterns")[:NAMED]


def _of_claims(message: Message) -> tuple[str, str, str] | None:
    """Return the wording of a notice; None if the message's own text is shown."""
    if message.kind == MailKind.REVOKED and not message.sender:
        return ("REVOKED: ", "your {claims} on ", " became void")
    if message.kind == MailKind.RELEASE_REQUEST and message.data.get("promised"):
        return ("RELEASE REQUEST: ", " is still waiting for ", ", which you promised by now")
    if message.kind == MailKind.TURN and message.data.get("lapsed"):
        return (
            "LAPSED: ",
            "your place in the queue for ",
            ", because you did not claim in your turn",
        )
    if message.kind == MailKind.TURN:
        return (
            "YOUR TURN: ",
            "claim ",
            f" within {span(message.data.get('within', 0.0))} of this message",
        )
    if message.kind == MailKind.RELEASED and message.data.get("why"):
        return None
    return _OF_CLAIMS.get(message.kind)


def answer_hint(message: str) -> str:
    """Return how to reply to a request: by message, because a pattern would have to be quoted."""
    what = message if is_plain(message) else "PATTERN"
    return f" - reply: `dibs answer {what} yes` (or: later --in 10m, no)"


def _said(message: Message, now: float) -> tuple[Part, ...]:
    """Return a message as parts: sender, age, recipients, and text."""
    sender, role = message.sender, message.role
    start = message.id
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
    return (*who, *many, *reply, ago, ": ", text)
