"""What the ledger says, in the words that the crew document has for it. Pure.

The words are ours; names of things and free text in an entry are text of others.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.talk.decisions import Outcome
from dibs.core.text.untrusted import Part, UntrustedText, path, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry

#: How many things an entry names; the others are counted.
NAMED = 3

#: What a briefing does not repeat: signs of life, what only its agent needs, what is mail, and what the list
#: of the crew shows.
UNTOLD = frozenset({
    Kind.FILE_READ, Kind.FILE_EDIT, Kind.LOCK_RENEWED, Kind.LOCK_DENIED, Kind.LOCK_UNQUEUED,
    Kind.MESSAGE_SENT, Kind.GROUP_MESSAGE, Kind.GROUP_CHANGED, Kind.PROGRESS_UPDATE, Kind.TASK_EDITED,
    Kind.STATUS_CHANGE, Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED,
    Kind.BOARD_CYCLE, Kind.LEDGER_RESTARTED, Kind.STORE_MOVED,
})  # fmt: skip

#: Roles of crews that are more than one word, and may stand outside of a fence because we know them.
CREW_ROLES = frozenset({
    "code reviewer", "critical reviewer", "data engineer", "devops engineer", "product manager",
    "project lead", "project manager", "qa engineer", "qa tester", "readability reviewer",
    "release manager", "security engineer", "security reviewer", "software architect",
    "software engineer", "tech lead", "technical writer", "test engineer", "ux designer",
})  # fmt: skip

#: What was done to what, for kinds whose entries name paths or patterns.
_TO_PATHS = {
    Kind.LOCK_ACQUIRED: "Acquired lock on ",
    Kind.LOCK_RELEASED: "Released lock on ",
    Kind.LOCK_RENEWED: "Renewed lock on ",
    Kind.LOCK_EXPIRED: "Lost by silence the lock on ",
    Kind.LOCK_REVOKED: "Revoked lock on ",
    Kind.LOCK_TRANSFERRED: "Handed over lock on ",
    Kind.LOCK_DENIED: "Was refused ",
    Kind.LOCK_QUEUED: "Waits for ",
    Kind.RELEASE_REQUESTED: "Asks for ",
    Kind.RELEASE_ANSWERED: "Answered who asks for ",
    Kind.CONFLICT_ESCALATED: "Put before a human the conflict over ",
    Kind.FILE_EDIT: "Edited ",
    Kind.FILE_READ: "Read ",
}
_OF_LOCKS = frozenset({Kind.LOCK_ACQUIRED, Kind.LOCK_RELEASED})
#: The same for kinds whose entries name a task.
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
#: What says it all, and what stands before an entry's own summary.
_WHOLE = {Kind.AGENT_JOINED: "Joined", Kind.SUB_AGENT_SPAWNED: "Joined"}
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
#: What became of a decision that waited; one that nobody had to confirm is a decision, and no more.
_OUTCOMES = {
    Outcome.CONFIRMED: " confirmed",
    Outcome.REJECTED: " rejected",
    Outcome.SETTLED: " settled",
}


def is_told(entry: Entry) -> bool:
    """Tell whether an entry is news to others; the lock of a task says what the task's entry says."""
    if entry.kind in UNTOLD:
        return False
    named = things(entry.details, "patterns", "pattern") if entry.kind in _OF_LOCKS else []
    return not named or not all(name.startswith("task:") for name in named)


def words(entry: Entry) -> tuple[Part, ...]:
    """Return what an entry says, without who and when."""
    details = entry.details
    if entry.kind in _TO_PATHS:
        named = things(details, "patterns", "pattern", "paths", "path", "files")
        if named:
            return (*_did(entry), *listed(named, entry.agent))
    if entry.kind in _TO_TASKS:
        named = [name.removeprefix("task:") for name in things(details, "tasks", "task")]
        if named:
            return (_TO_TASKS[entry.kind], *listed(named, entry.agent))
    if entry.kind in _WHOLE:
        return (_WHOLE[entry.kind],)
    what = _BEFORE.get(entry.kind) or _spelled(entry.kind)
    if entry.kind == Kind.DECISION_MADE:
        what += _OUTCOMES.get(str(details.get("outcome")), "")
    title = details.get("title")
    if isinstance(title, str) and title:
        # Whoever decides has not written what it decides on.
        author = next(iter(things(details, "asker")), entry.agent)
        return (f"{what} — ", UntrustedText(title, author, 120))
    said = _without(entry.agent, entry.summary)
    return (f"{what} — ", UntrustedText(said, entry.agent, 120)) if said else (what,)


def _did(entry: Entry) -> tuple[Part, ...]:
    """Return what was done to paths; of an answer, what was said to whom."""
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
    return (
        kind.replace("_", " ").capitalize()
        if plain.isascii() and plain.isalpha() and len(kind) <= 32  # noqa: PLR2004
        else "Event"
    )


def things(details: dict[str, Any], *names: str) -> list[str]:
    """Return what the details of an entry or a message name under the first of the names that they have."""
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
    """Return a role for a line; none that only looks like the role of humans passes for it."""
    if role.lower() == "human" != role:
        return UntrustedText(role, agent, 80)
    return role if role.lower() in CREW_ROLES else word(role or "agent", agent)
