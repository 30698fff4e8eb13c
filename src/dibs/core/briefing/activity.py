"""Ledger entries in the crew document's words, and the parts that lines share. Pure.

The words are ours; names and free text in an entry are untrusted.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_entry
from dibs.core.talk.decisions import Outcome
from dibs.core.text.durations import show_span
from dibs.core.text.untrusted import Part, UntrustedText, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry

#: How many things an entry names; the others are counted.
NAMED = 3

#: What a briefing does not repeat: heartbeats, what only its agent needs, mail, and what the crew list shows.
UNTOLD = frozenset({
    Kind.FILE_READ, Kind.FILE_EDIT, Kind.LOCK_RENEWED, Kind.LOCK_DENIED, Kind.LOCK_UNQUEUED,
    Kind.MESSAGE_SENT, Kind.GROUP_MESSAGE, Kind.GROUP_CHANGED, Kind.PROGRESS_UPDATE, Kind.TASK_EDITED,
    Kind.STATUS_CHANGE, Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED,
    Kind.BOARD_CYCLE, Kind.LEDGER_RESTARTED, Kind.STORE_MOVED,
})  # fmt: skip

#: Roles of more than one word that are shown without a fence because we know them.
CREW_ROLES = frozenset({
    "code reviewer", "critical reviewer", "data engineer", "devops engineer", "product manager",
    "project lead", "project manager", "qa engineer", "qa tester", "readability reviewer",
    "release manager", "security engineer", "security reviewer", "software architect",
    "software engineer", "tech lead", "technical writer", "test engineer", "ux designer",
})  # fmt: skip

#: What was done to the paths or patterns, or to the tasks, that an entry names.
_TO_PATHS = {
    Kind.LOCK_ACQUIRED: "Acquired lock on ",
    Kind.LOCK_RELEASED: "Released lock on ",
    Kind.LOCK_EXPIRED: "Lost by silence the lock on ",
    Kind.LOCK_REVOKED: "Revoked lock on ",
    Kind.LOCK_TRANSFERRED: "Handed over lock on ",
    Kind.LOCK_QUEUED: "Waits for ",
    Kind.RELEASE_REQUESTED: "Asks for ",
    Kind.RELEASE_ANSWERED: "Answered who asks for ",
    Kind.CONFLICT_ESCALATED: "Put before a human the conflict over ",
}
_TO_TASKS = {
    Kind.TASK_STARTED: "Started task ",
    Kind.TASK_COMPLETED: "Completed task ",
    Kind.TASK_ADDED: "Added task ",
    Kind.TASK_ASSIGNED: "Assigned task ",
    Kind.TASK_REVIEWED: "Handed in for review task ",
    Kind.TASK_FAILED: "Failed task ",
    Kind.TASK_RETURNED: "Gave back task ",
    Kind.TASK_REOPENED: "Reopened task ",
    Kind.TASK_BLOCKED: "Blocked task ",
    Kind.TASK_CANCELLED: "Cancelled task ",
    Kind.TASK_REASSIGNED: "Gave to another task ",
    Kind.TASK_STUCK: "Reported as stuck task ",
    Kind.HANDOFF_CREATED: "Handed on task ",
    Kind.DELEGATED: "Delegated task ",
    Kind.DELEGATION_CANCELLED: "Took back task ",
}
#: What is written before an entry's title or summary.
_BEFORE = {
    Kind.DECISION_MADE: "Decision",
    Kind.DECISION_ASKED: "Asks for a decision",
    Kind.DECISION_COMMENTED: "Commented a decision",
    Kind.COMMITTED: "Committed",
    Kind.MERGED: "Merged",
    Kind.AGENT_EXITED: "Left",
    Kind.AGENT_TERMINATED: "Stopped an agent",
    Kind.CONFLICT_FORECAST: "Conflict ahead",
    Kind.ERROR: "Error",
}
#: The outcome of a decision that was pending; one that nobody had to confirm is only a decision.
_OUTCOMES = {
    Outcome.CONFIRMED: " confirmed",
    Outcome.REJECTED: " rejected",
    Outcome.SETTLED: " settled",
}


def is_told(entry: Entry) -> bool:
    """Tell whether an entry is news to others; the lock of a task repeats the task's entry."""
    if entry.kind in UNTOLD or is_probe_entry(entry):
        return False
    of_locks = entry.kind in {Kind.LOCK_ACQUIRED, Kind.LOCK_RELEASED}
    named = things(entry.details, "patterns", "pattern") if of_locks else []
    return not named or not all(name.startswith("task:") for name in named)


def words(entry: Entry) -> tuple[Part, ...]:
    """Return what an entry says, without who and when."""
    kind, agent, details = entry.kind, entry.agent, entry.details
    if kind in _TO_PATHS:
        named = things(details, "patterns", "pattern", "paths", "path", "files")
        if named:
            return (*_answered(entry), *listed(named, agent))
    if kind in _TO_TASKS:
        named = [name.removeprefix("task:") for name in things(details, "tasks", "task")]
        if named:
            return (_TO_TASKS[kind], *listed(named, agent))
    what = _BEFORE.get(kind) or _spelled(kind)
    if kind == Kind.DECISION_MADE:
        what += _OUTCOMES.get(str(details.get("outcome")), "")
    # The title of a decision was written by the agent that asked for it.
    titles = things(details, "title")
    author = next(iter(things(details, "asker")), agent) if titles else agent
    said = titles[0] if titles else _without(agent, entry.summary)
    return (f"{what} — ", UntrustedText(said, author, 120)) if said else (what,)


def _answered(entry: Entry) -> tuple[Part, ...]:
    """Return what was done to paths; for an answer, what was said to whom."""
    answer, asker = (things(entry.details, name) for name in ("answer", "asker"))
    if entry.kind != Kind.RELEASE_ANSWERED or not answer or not asker:
        return (_TO_PATHS[entry.kind],)
    said, whom = word(answer[0], entry.agent), word(asker[0], entry.agent)
    return ("Said ", said, " to ", whom, ", who asks for ")


def _without(agent: str, summary: str) -> str:
    """Return a summary without the agent that it begins with: the line names it already."""
    rest = summary.removeprefix(agent)
    return rest.lstrip(": ") if rest != summary and rest[:1] in {":", " "} else summary


def _spelled(kind: str) -> str:
    """Return a kind that has no words of its own, as words; one of a newer Dibs may be any text."""
    plain = kind.replace("_", "")
    known = plain.isascii() and plain.isalpha() and len(kind) <= 32  # noqa: PLR2004
    return kind.replace("_", " ").capitalize() if known else "Event"


def things(details: dict[str, Any], *names: str) -> list[str]:
    """Return what the details of an entry or a message name under the first of ``names`` that they have."""
    for name in names:
        found = details.get(name)
        if isinstance(found, str) and found:
            return [found]
        if isinstance(found, list | tuple) and found:
            return [thing for thing in found if isinstance(thing, str)]
    return []


def listed(named: Sequence[str], origin: str, *, count: int = 0, most: int = NAMED) -> list[Part]:
    """Return the parts of a list of paths or names; ``count`` is how many there are, if more than these."""
    parts: list[Part] = []
    for name in named[:most]:
        parts += [", ", path(name, origin, 120)] if parts else [path(name, origin, 120)]
    more = max(count, len(named)) - min(len(named), most)
    return [*parts, f" and {more} more"] if more > 0 else parts


def role_part(role: str, agent: str) -> Part:
    """Return a role for a line; one that only looks like the role of humans is fenced."""
    if role.lower() == "human" != role:
        return UntrustedText(role, agent, 80)
    return role if role.lower() in CREW_ROLES else word(role or "agent", agent)


def reason_part(
    reason: str, origin: str, before: str = " - ", limit: int = 200
) -> tuple[Part, ...]:
    """Return somebody's reason for the end of a line; nothing if it is empty."""
    return (before, UntrustedText(reason, origin, limit)) if reason else ()


def span(seconds: float) -> str:
    """Return a span to the second; a negative one is 0."""
    return show_span(max(0, round(seconds)))


def plural(count: int, noun: str) -> str:
    """Return a count and its noun: ``1 task``, ``2 tasks``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
