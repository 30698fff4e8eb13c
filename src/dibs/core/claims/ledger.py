"""The ledger's records and kinds of entries.

Pure. The first fourteen kinds come from the crew document; the others are ours.
"""

from __future__ import annotations

from dibs.core.text.names import cut, few, printable
from dibs.startup.quickjson import encoder, loads
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


#: The start of the value that an engine gives to a row whose bytes it cannot read; no valid value has it.
UNREADABLE = "damaged: "


class Kind(metaclass=TextEnum):
    """The kind of an event, as it is stored."""

    FILE_EDIT = "file_edit"
    FILE_READ = "file_read"
    DECISION_MADE = "decision_made"
    TASK_STARTED = "task_started"
    TASK_COMPLETED = "task_completed"
    SUB_AGENT_SPAWNED = "sub_agent_spawned"
    LOCK_ACQUIRED = "lock_acquired"
    LOCK_RELEASED = "lock_released"
    MESSAGE_SENT = "message_sent"
    DELEGATED = "delegated"
    AGENT_TERMINATED = "agent_terminated"
    DELEGATION_CANCELLED = "delegation_cancelled"
    GROUP_MESSAGE = "group_message"
    ERROR = "error"

    LOCK_RENEWED = "lock_renewed"
    LOCK_EXPIRED = "lock_expired"
    LOCK_REVOKED = "lock_revoked"
    LOCK_TRANSFERRED = "lock_transferred"
    LOCK_DENIED = "lock_denied"
    LOCK_QUEUED = "lock_queued"
    LOCK_UNQUEUED = "lock_unqueued"
    LOCK_TURN = "lock_turn"
    RELEASE_REQUESTED = "release_requested"
    TASK_ADDED = "task_added"
    TASK_ASSIGNED = "task_assigned"
    TASK_FAILED = "task_failed"
    TASK_RETURNED = "task_returned"
    TASK_REOPENED = "task_reopened"
    TASK_BLOCKED = "task_blocked"
    TASK_CANCELLED = "task_cancelled"
    TASK_REASSIGNED = "task_reassigned"
    TASK_EDITED = "task_edited"
    TASK_REFUSED = "task_refused"
    TASK_STUCK = "task_stuck"
    TASK_ARCHIVED = "task_archived"
    HANDOFF_CREATED = "handoff_created"
    HANDOFF_REFUSED = "handoff_refused"
    TASK_CLASH = "task_clash"
    BOARD_CYCLE = "board_cycle"
    COMMITTED = "commit"
    COMMIT_REFUSED = "commit_refused"
    TESTS_PASSED = "tests_passed"
    TESTS_FAILED = "tests_failed"
    MERGED = "merge"
    MERGE_REFUSED = "merge_refused"
    CONFLICT_FORECAST = "conflict_forecast"
    WORKTREE_ADDED = "worktree_added"
    WORKTREE_REMOVED = "worktree_removed"
    WORK_SALVAGED = "work_salvaged"
    SALVAGE_EXPIRED = "salvage_expired"
    RELEASE_ANSWERED = "release_answered"
    CONFLICT_ESCALATED = "conflict_escalated"
    DECISION_ASKED = "decision_asked"
    DECISION_COMMENTED = "decision_commented"
    GROUP_CHANGED = "group_changed"
    AGENT_GUARDED = "agent_guarded"
    WRITE_REFUSED = "write_refused"
    FOREIGN_WRITE = "foreign_write"
    HISTORY_REWRITTEN = "history_rewritten"
    HEAD_MOVED = "head_moved"
    WIRING_CHANGED = "wiring_changed"
    AGENT_JOINED = "agent_joined"
    AGENT_EXITED = "agent_exited"
    AGENT_CRASHED = "agent_crashed"
    AGENT_AUTO_RESTARTED = "agent_auto_restarted"
    AGENT_RESTART_LIMIT = "agent_restart_limit"
    CREW_CHANGED = "crew_changed"
    ALERT_OPENED = "alert_opened"
    ALERT_ACKNOWLEDGED = "alert_acknowledged"
    ALERT_RAISED = "alert_raised"
    ALERT_RESOLVED = "alert_resolved"
    STATUS_CHANGE = "status_change"
    PROGRESS_UPDATE = "progress_update"
    LEDGER_RESTARTED = "ledger_restarted"


class Event(Record):
    """An event without a number yet. Secrets in its text are already masked."""

    agent: str
    role: str
    kind: str
    summary: str
    details: dict[str, Any]


class Entry(Record):
    """An event as the ledger stores it."""

    seq: int
    at: float
    agent: str
    role: str
    kind: str
    summary: str
    details: dict[str, Any]


#: Encodes the details of an event.
encode_details = encoder(allow_nan=False)


def decode_details(text: str) -> dict[str, Any]:
    """Decode an entry's details; damaged ones are returned as text, so that a listing continues."""
    try:
        details = loads(text)
    except ValueError:
        details = None
    return details if isinstance(details, dict) else {"unreadable": text}


#: The longest headline.
HEADLINE = 100

_VERBS = {
    Kind.LOCK_ACQUIRED: "claim",
    Kind.LOCK_RELEASED: "release",
    Kind.LOCK_RENEWED: "renew",
    Kind.LOCK_EXPIRED: "expire",
    Kind.LOCK_REVOKED: "revoke",
    Kind.LOCK_TRANSFERRED: "transfer",
    Kind.LOCK_DENIED: "deny",
    Kind.LOCK_QUEUED: "queue",
    Kind.RELEASE_REQUESTED: "ask",
    Kind.TASK_STARTED: "start",
    Kind.TASK_COMPLETED: "done",
}
#: Actions, which a reader of the history looks for first.
_DEEDS = frozenset({
    Kind.LOCK_ACQUIRED, Kind.LOCK_RELEASED, Kind.LOCK_REVOKED, Kind.LOCK_TRANSFERRED, Kind.LOCK_RENEWED,
    Kind.TASK_STARTED, Kind.TASK_COMPLETED,
})  # fmt: skip


def headlines(events: Iterable[Event]) -> list[str]:
    """Return one line for each event; actions come before their consequences."""
    told = sorted(events, key=lambda event: event.kind not in _DEEDS)
    return [headline(event) for event in told]


def headline(event: Event) -> str:
    """Return one short line: what was done, to what, by whom."""
    verb = _VERBS.get(event.kind, "")
    things = _things(event.details) if verb else ""
    if things:
        line = f"{verb}: {things} by {event.agent}"
    else:
        line = f"{verb or event.kind.replace('_', ' ')}: {event.summary or event.agent}"
    return cut(printable(" ".join(line.split())), HEADLINE)


def _things(details: dict[str, Any]) -> str:
    """Return what an event is about: task ids, or patterns."""
    found = details.get("patterns") or details.get("pattern") or details.get("task") or ""
    names = found if isinstance(found, list | tuple) else [found]
    return few([str(name).removeprefix("task:") for name in names])
