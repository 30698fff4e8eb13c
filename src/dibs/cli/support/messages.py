"""Print messages; for an agent, inside a fence."""

from __future__ import annotations

from dibs.cli.support.text import bold, clock
from dibs.core.claims.agents import HUMAN
from dibs.core.talk.mail import MAX_MESSAGE, MailKind, happened
from dibs.core.text.untrusted import is_plain
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.talk.mail import Message
    from dibs.services.talk.mail import Letter

#: Tells an agent which messages it may follow.
_HUMANS = "Messages marked HUMAN are from a human."
_KINDS = {MailKind.ANSWER: "reply", MailKind.HANDED_OVER: "transfer"}


def lines(letters: Sequence[Letter], caller: Caller, now: float) -> list[str]:
    """Return a heading and the text of each message."""
    quoted = Quoting(caller, [letter.message.text for letter in letters])
    found = [f"{line} {_HUMANS}" for line in quoted.legend] if letters else []
    for letter in letters:
        message = letter.message
        found.append(_heading(letter, caller, now))
        found += quoted.lines(message.text, message.sender or "dibs", MAX_MESSAGE)
    return found


def _heading(letter: Letter, caller: Caller, now: float) -> str:
    message = letter.message
    parts = [f"{message.id} {clock(message.at, now)} {_who(message)}{_whom(message, caller)}"]
    if message.kind != MailKind.MESSAGE:
        parts.append(_KINDS.get(message.kind) or message.kind.replace("_", " "))
    if "expired_at" in message.data:
        when = f" at {clock(happened(message), now)}"
        parts[-1] += when if message.kind == MailKind.EXPIRED else f", expired{when}"
    if message.reply_to:
        parts.append(f"reply to {message.reply_to}")
    until = message.data.get("until")
    if until:
        parts.append(f"until {clock(until, now)}")
    heading = ", ".join(parts)
    return bold(heading) if message.role == HUMAN else heading


def _who(message: Message) -> str:
    if message.role == HUMAN:
        return f"HUMAN {message.sender}"
    if not message.sender:
        return "dibs"
    shown = message.role not in {"", "agent"} and is_plain(message.role)
    return f"{message.sender} ({message.role})" if shown else message.sender


def _whom(message: Message, caller: Caller) -> str:
    if message.to == caller.id or message.kind != MailKind.MESSAGE:
        return ""
    kind, mark, name = message.to.partition(":")
    return f" to {message.to}" if not mark or is_plain(name) else f" to a {kind}"
