"""Messages to agents and humans, and the text of notices.

Pure. A message goes into boxes: an agent's box has the agent's id, and all humans share one. Notices about
claims (requested, expired, revoked, transferred) are messages of other kinds.
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
#: The most digits of each number in a message id.
_DIGITS = 16
#: The longest text of a message.
MAX_MESSAGE = 16_000
#: A notice names at most this many patterns and counts the rest.
NAMED = 20


class MailKind(metaclass=TextEnum):
    """The kind of a message, as stored and shown."""

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
    FOREIGN_WRITE = "foreign_write"
    TURN = "turn"
    TAKEN_OVER = "taken_over"
    UNFINISHED = "unfinished"
    COMMITTED = "committed"
    TESTS = "tests"
    SUMMARY = "summary"


#: Kinds that a briefing never omits: an agent that misses one breaks another agent's work.
VITAL = frozenset({
    MailKind.RELEASE_REQUEST, MailKind.EXPIRED, MailKind.REVOKED, MailKind.HANDED_OVER,
    MailKind.FOREIGN_WRITE, MailKind.TURN, MailKind.TAKEN_OVER, MailKind.UNFINISHED,
})  # fmt: skip


class Message(Record):
    """A message with its recipients. Secrets in its text are already masked."""

    #: ``m`` and the number of its ledger entry; one entry may create several messages.
    id: str
    at: float
    sender: str
    #: The sender's role; ``human`` for a person.
    role: str
    kind: str
    text: str
    #: The recipient as the sender wrote it: an agent, ``role:x``, ``group:x``, or ``all``.
    to: str
    #: The boxes it was put into.
    boxes: tuple[str, ...]
    reply_to: str = ""
    #: Data for programs: patterns, tokens, a decision, a task.
    data: dict[str, Any] = {}  # noqa: RUF012 - a default of a record, never changed


def box_of(who: str, role: str) -> str:
    """Return the box of an agent or human."""
    return HUMANS if role == HUMAN else who


def id_in(text: str) -> str:
    """Return a message id as stored, ``m41`` or ``m41.2``; empty if ``text`` is not one."""
    numbers = text.removeprefix("m").removesuffix(".0").split(".")
    plain = all(n.isascii() and n.isdigit() and len(n) <= _DIGITS for n in numbers)
    if not text.startswith("m") or not plain or len(numbers) > 2:  # noqa: PLR2004
        return ""
    return "m" + ".".join(str(int(number)) for number in numbers)


_WORDS = {
    MailKind.RELEASE_REQUEST: "{sender} requested {what}{why}",
    MailKind.EXPIRED: "your {claims} on {what} expired{ago}{why}",
    MailKind.REVOKED: "{sender} revoked your {claims} on {what}{why}",
    MailKind.HANDED_OVER: "{sender} transferred {what} to you{why}",
    MailKind.RELEASED: "{sender} released {what}, which you requested",
    MailKind.TURN: "it is your turn: claim {what} within {span}, or your place in the queue lapses",
    MailKind.TAKEN_OVER: "{sender} now holds {what}, which you left with uncommitted changes{why}",
    MailKind.UNFINISHED: "{what} contains {sender}'s uncommitted changes{why}",
    MailKind.COMMITTED: "{sender} committed your uncommitted changes to {what}{why}",
    MailKind.FORECAST: "your work and {other}'s work would conflict in {what}",
}
#: For an agent that requested claims: what happened to them other than a release.
_FREED = {
    "transferred": "{sender} transferred {what}, which you requested, to {heir}",
    "expired": "{sender}'s {claims} on {what}, which you requested, expired{ago}",
}
#: Replies to a release request.
_ANSWERS = {
    "yes": "{sender} replied yes and released {what}{why}",
    "later": "{sender} replied later: {what} {span}, counted from this message{why}",
    "no": "{sender} replied no: it keeps {what}{why}",
    "broken": "{sender} promised {what} by now and still holds it; request it again, or use dibs escalate",
}
#: Reports of a foreign write, by reader (the file's owner or the writer) and whether it is certain.
_FOREIGN = {
    ("holder", True): "{sender}'s command changed {what}, which you hold{why}",
    ("writer", True): "your command changed {what}, which {sender} holds{why}",
    ("holder", False): "{what}, which you hold, changed while {sender} ran a command{why}",
    ("writer", False): "{what}, which {sender} holds, changed while your command ran{why}",
    (
        "checkout",
        True,
    ): "{sender} checked out {what} in {other}, where you hold files; dibs commit refuses until "
    "it is your branch again",
    (
        "returned",
        True,
    ): "{sender} checked out {what} in {other} again, where you claimed files on it",
    ("removed", True): "{sender} removed your {what} from {other}{why}",
    ("remover", True): "your command removed {what} by {sender} from {other}{why}",
    (
        "taker",
        True,
    ): "Dibs saved a copy of {whose} uncommitted changes to {what} before your call{why}",
    (
        "wiring",
        False,
    ): "files that guard agents were changed while {sender} ran a command: {what}{why}",
    ("undone", True): "your uncommitted changes to {what} were discarded outside your calls{why}",
    (
        "taker",
        False,
    ): "{what}, with {whose} uncommitted changes, changed while your command ran{why}",
    (
        "author",
        False,
    ): "{what}, with your uncommitted changes, changed while {sender} ran a command{why}",
}
#: For an owner that did not keep its promise.
_PROMISED = "{sender} is still waiting for {what}, which you promised by now{why}"
_LAPSED = "your place in the queue for {what} lapsed, because you did not claim in your turn"
_ENDED = "{sender}'s {claims} on {what}, which you requested, ended: {how}"
_VOID = "your {claims} on {what} became void{why}"


def happened(message: Message) -> float:
    """Return when what a message reports happened: a claim expires at its deadline, noticed or not."""
    at = message.data.get("expired_at")
    return float(at) if isinstance(at, int | float) else message.at


def wording(kind: str, sender: str, patterns: Sequence[str], data: dict[str, Any]) -> str:
    """Return the text of a notice."""
    if kind == MailKind.DECISION:
        from dibs.core.talk.decision_rules import notice

        return notice(sender, data)
    words = _WORDS.get(kind, "{what}{why}")
    how = data.get("why", "")
    if kind == MailKind.RELEASED and how:
        words = _FREED.get(how, _ENDED)
    elif kind == MailKind.REVOKED and not sender:
        words = _VOID
    elif kind == MailKind.TURN and data.get("lapsed"):
        words = _LAPSED
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
        ago=f" {data['span']} before this message" if data.get("span") else "",
        whose=data.get("whose", ""),
    )
