"""Ledger entries as briefing lines, and parts that lines share. Pure.

Names and free text in an entry are untrusted.
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

#: An entry names at most this many things and counts the rest.
NAMED = 3

#: Kinds that briefings omit: heartbeats, private entries, messages, and what the crew list shows anyway.
UNTOLD = frozenset({
    Kind.FILE_READ, Kind.FILE_EDIT, Kind.LOCK_RENEWED, Kind.LOCK_DENIED, Kind.LOCK_UNQUEUED,
    Kind.MESSAGE_SENT, Kind.GROUP_MESSAGE, Kind.GROUP_CHANGED, Kind.PROGRESS_UPDATE, Kind.TASK_EDITED,
    Kind.STATUS_CHANGE, Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED,
    Kind.BOARD_CYCLE, Kind.LEDGER_RESTARTED,
})  # fmt: skip

#: Known roles of more than one word; they need no fence.
CREW_ROLES = frozenset({
    "code reviewer", "critical reviewer", "data engineer", "devops engineer", "product manager",
    "project lead", "project manager", "qa engineer", "qa tester", "readability reviewer",
    "release manager", "security engineer", "security reviewer", "software architect",
    "software engineer", "tech lead", "technical writer", "test engineer", "ux designer",
})  # fmt: skip

#: What an entry did to the paths or patterns it names.
_TO_PATHS = {
    Kind.LOCK_ACQUIRED: "Claimed ",
    Kind.LOCK_RELEASED: "Released ",
    Kind.LOCK_EXPIRED: "Claim expired: ",
    Kind.LOCK_REVOKED: "Revoked the claim on ",
    Kind.LOCK_TRANSFERRED: "Transferred ",
    Kind.LOCK_QUEUED: "Waiting for ",
    Kind.RELEASE_REQUESTED: "Requested ",
    Kind.RELEASE_ANSWERED: "Replied to the request for ",
    Kind.CONFLICT_ESCALATED: "Escalated to a human: ",
    Kind.WRITE_REFUSED: "Blocked from changing ",
    Kind.FOREIGN_WRITE: "Changed another agent's ",
}
#: What an entry did to the tasks it names.
_TO_TASKS = {
    Kind.TASK_STARTED: "Started task ",
    Kind.TASK_COMPLETED: "Completed task ",
    Kind.TASK_ADDED: "Added task ",
    Kind.TASK_ASSIGNED: "Assigned task ",
    Kind.TASK_FAILED: "Failed task ",
    Kind.TASK_RETURNED: "Returned task ",
    Kind.TASK_REOPENED: "Reopened task ",
    Kind.TASK_BLOCKED: "Blocked task ",
    Kind.TASK_CANCELLED: "Canceled task ",
    Kind.TASK_REASSIGNED: "Reassigned task ",
    Kind.TASK_STUCK: "Reported stuck task ",
    Kind.HANDOFF_CREATED: "Handed off task ",
    Kind.DELEGATED: "Delegated task ",
    Kind.DELEGATION_CANCELLED: "Canceled the delegation of task ",
}
#: Text before an entry's title or summary.
_BEFORE = {
    Kind.DECISION_MADE: "Decision",
    Kind.DECISION_ASKED: "Asked for a decision",
    Kind.DECISION_COMMENTED: "Comment",
    Kind.COMMITTED: "Committed",
    Kind.MERGED: "Merged",
    Kind.AGENT_EXITED: "Exited",
    Kind.AGENT_TERMINATED: "Stopped",
    Kind.CONFLICT_FORECAST: "Predicted a conflict",
    Kind.ERROR: "Error",
}
#: Verbs of summaries that the text before them already contains.
_VERBS = ("commented ", "stopped ", "exited: ")
#: The outcome of a decision that was pending; one that needed no confirmation has none.
_OUTCOMES = {
    Outcome.CONFIRMED: " confirmed",
    Outcome.REJECTED: " rejected",
    Outcome.SETTLED: " closed",
}


def is_told(entry: Entry) -> bool:
    """Return whether an entry is news to others; a task's claim repeats the task's entry."""
    if entry.kind in UNTOLD or is_probe_entry(entry):
        return False
    of_locks = entry.kind in {Kind.LOCK_ACQUIRED, Kind.LOCK_RELEASED}
    named = things(entry.details, "patterns", "pattern") if of_locks else []
    return not named or not all(name.startswith("task:") for name in named)


def words(entry: Entry) -> tuple[Part, ...]:
    """Return an entry's text, without its agent and time."""
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
    # The agent that asked for a decision wrote its title.
    titles = things(details, "title")
    author = next(iter(things(details, "asker")), agent) if titles else agent
    said = titles[0] if titles else _without(agent, entry.summary)
    return (f"{what} — ", UntrustedText(said, author, 120)) if said else (what,)


def _answered(entry: Entry) -> tuple[Part, ...]:
    """Return the verb for paths; for a reply, who replied what to whom."""
    answer, asker = (things(entry.details, name) for name in ("answer", "asker"))
    if entry.kind != Kind.RELEASE_ANSWERED or not answer or not asker:
        return (_TO_PATHS[entry.kind],)
    said, whom = word(answer[0], entry.agent), word(asker[0], entry.agent)
    return ("Replied ", said, " to ", whom, "'s request for ")


def _without(agent: str, summary: str) -> str:
    """Return a summary without what the line already says: the agent and the verb."""
    rest = summary.removeprefix(agent)
    if rest == summary or rest[:1] not in {":", " "}:
        return summary
    rest = rest.lstrip(": ")
    return next((rest[len(verb) :] for verb in _VERBS if rest.startswith(verb)), rest)


def _spelled(kind: str) -> str:
    """Return an unlisted kind as words; a kind from a newer Dibs may be any text."""
    plain = kind.replace("_", "")
    known = plain.isascii() and plain.isalpha() and len(kind) <= 32  # noqa: PLR2004
    return kind.replace("_", " ").capitalize() if known else "Event"


def things(details: dict[str, Any], *names: str) -> list[str]:
    """Return what ``details`` lists under the first of ``names`` it has."""
    for name in names:
        found = details.get(name)
        if isinstance(found, str) and found:
            return [found]
        if isinstance(found, list | tuple) and found:
            return [thing for thing in found if isinstance(thing, str)]
    return []


def listed(named: Sequence[str], origin: str, *, count: int = 0, most: int = NAMED) -> list[Part]:
    """Return the parts of a list of paths or names; ``count`` is the total, if ``named`` is not all."""
    parts: list[Part] = []
    for name in named[:most]:
        parts += [", ", path(name, origin, 120)] if parts else [path(name, origin, 120)]
    more = max(count, len(named)) - min(len(named), most)
    return [*parts, f" and {more} more"] if more > 0 else parts


def role_part(role: str, agent: str) -> Part:
    """Return a role for a line; one that imitates the human role is fenced."""
    if role.lower() == "human" != role:
        return UntrustedText(role, agent, 80)
    return role if role.lower() in CREW_ROLES else word(role or "agent", agent)


def reason_part(
    reason: str, origin: str, before: str = " - ", limit: int = 200
) -> tuple[Part, ...]:
    """Return a reason for the end of a line; nothing if it is empty."""
    return (before, UntrustedText(reason, origin, limit)) if reason else ()


def span(seconds: float) -> str:
    """Return a duration to the second; a negative one is 0."""
    return show_span(max(0, round(seconds)))
