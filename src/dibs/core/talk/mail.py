"""What agents and humans are told: the values of mail.

Pure. A message goes into boxes: the box of an agent has the agent's id, and all humans share one. What Dibs
itself has to say of claims (asked for, run out, revoked, handed over) is mail of another kind.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.text.names import few
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: The box that all humans share; no agent can have this id.
HUMANS = "@human"
#: So long is each number in the id of a message, at most.
_DIGITS = 16
#: How long the text of a message may be.
MAX_MESSAGE = 16_000
#: How many patterns a notice names; the others are counted.
NAMED = 20


class MailKind(metaclass=TextEnum):
    """What a message is. The value is what is stored and shown."""

    MESSAGE = "message"
    DELEGATED = "delegated"
    RELEASE_REQUEST = "release_request"
    ANSWER = "answer"
    RELEASED = "released"
    EXPIRED = "expired"
    REVOKED = "revoked"
    HANDED_OVER = "handed_over"
    FORECAST = "forecast"
    DECISION = "decision"
    ACKNOWLEDGED = "acknowledged"
    OVERDUE = "overdue"
    FOREIGN_WRITE = "foreign_write"


#: What no budget of a briefing leaves out: an agent that misses it breaks somebody's work.
VITAL = frozenset({
    MailKind.RELEASE_REQUEST, MailKind.EXPIRED, MailKind.REVOKED, MailKind.HANDED_OVER,
    MailKind.FOREIGN_WRITE,
})  # fmt: skip


class Priority(metaclass=TextEnum):
    """How soon a message should be read."""

    URGENT = "urgent"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class Message(Record):
    """Something that was said, and to whom. Its text is already masked."""

    #: ``m`` and the number of the ledger entry that came with it; one entry may bring several.
    id: str
    at: float
    sender: str
    #: The sender's role; ``human`` is the voice of a human.
    role: str
    kind: str
    text: str
    #: To whom it was addressed, in the sender's words: an agent, ``role:x``, ``group:x`` or ``all``.
    to: str
    #: The boxes that it went into.
    boxes: tuple[str, ...]
    #: The first message of its thread; its own id where it began one.
    thread: str = ""
    reply_to: str = ""
    priority: str = Priority.NORMAL
    wants_ack: bool = False
    #: Until when it should be acknowledged; 0 for no matter when.
    due: float = 0.0
    #: What programs need: patterns, tokens, a decision, a task.
    data: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed


def box_of(who: str, role: str) -> str:
    """Return the box of somebody who has this role."""
    return HUMANS if role == HUMAN else who


def id_in(text: str) -> str:
    """Return the id of a message as it is stored, ``m41`` or ``m41.2``; empty where there is none."""
    numbers = text.removeprefix("m").removesuffix(".0").split(".")
    plain = all(n.isascii() and n.isdigit() and len(n) <= _DIGITS for n in numbers)
    if not text.startswith("m") or not plain or len(numbers) > 2:  # noqa: PLR2004
        return ""
    return "m" + ".".join(str(int(number)) for number in numbers)


_WORDS = {
    MailKind.RELEASE_REQUEST: "{sender} asks you for {what}{why}",
    MailKind.EXPIRED: "your {claims} on {what} ran out",
    MailKind.REVOKED: "{sender} revoked your {claims} on {what}{why}",
    MailKind.HANDED_OVER: "{sender} handed you {what}{why}",
    MailKind.RELEASED: "{sender} gave back {what}, which you asked for",
    MailKind.FORECAST: "your work and that of {other} would conflict in {what}",
}
#: How an asker hears of claims that their holder did not simply give back, by what became of them.
_FREED = {
    "transferred": "{sender} handed {what}, which you asked for, to {heir}",
    "expired": "the {claims} of {sender} on {what}, which you asked for, ran out",
}
#: What a holder answered to whoever asked for its claims.
_ANSWERS = {
    "yes": "{sender} says yes: {what} is given back{why}",
    "later": "{sender} says later: {what} {span}, counted from this message{why}",
    "no": "{sender} says no to {what}{why}",
    "broken": "{sender} promised {what} by now, and still holds it: ask again, or dibs escalate",
}
#: How the holder of a file, and whoever wrote it, hear of that: surely, or maybe.
_FOREIGN = {
    ("holder", True): "a command of {sender} changed {what}, which you hold{why}",
    ("writer", True): "your command changed {what}, which {sender} holds{why}",
    ("holder", False): "{what}, which you hold, changed during a command of {sender}{why}",
    ("writer", False): "{what}, which {sender} holds, changed during your command{why}",
}
#: How a holder hears of what it promised, and did not give back.
_PROMISED = "{sender} still waits for {what}, which you promised by now{why}"
_ENDED = "the {claims} of {sender} on {what}, which you asked for, ended: {how}"
_VOID = "your {claims} on {what} became void{why}"


def wording(kind: str, sender: str, patterns: Sequence[str], data: dict[str, Any]) -> str:
    """Return what a notice of Dibs says to its reader."""
    if kind == MailKind.DECISION:
        from dibs.core.talk.decision_rules import notice

        return notice(sender, data)
    words = _WORDS.get(kind, "{what}{why}")
    how = data.get("why", "")
    if kind == MailKind.RELEASED and how:
        words = _FREED.get(how, _ENDED)
    elif kind == MailKind.REVOKED and not sender:
        words = _VOID
    elif kind == MailKind.RELEASE_REQUEST and data.get("promised"):
        words = _PROMISED
    elif kind == MailKind.ANSWER:
        words = _ANSWERS[data["answer"]]
    elif kind == MailKind.FOREIGN_WRITE:
        words = _FOREIGN[data["told"], data["sure"]]
    return words.format(
        sender=sender,
        what=few(patterns),
        why=f": {data['reason']}" if data.get("reason") else "",
        how=how,
        claims="claim" if len(patterns) == 1 else "claims",
        other=data.get("other", ""),
        heir=data.get("heir", ""),
        span=data.get("span", ""),
    )
