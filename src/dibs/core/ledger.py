"""What happened: the values of the ledger and the kinds of events.

Pure. The first fourteen kinds are those of the crew document; the others are ours.
"""

from __future__ import annotations

from dibs.core.values import Record, Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Kind(metaclass=Words):
    """What an event says. The value is what is stored and shown."""

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
    RELEASE_REQUESTED = "release_requested"
    AGENT_JOINED = "agent_joined"
    AGENT_EXITED = "agent_exited"
    STATUS_CHANGE = "status_change"
    PROGRESS_UPDATE = "progress_update"
    LEDGER_RESTARTED = "ledger_restarted"


class Event(Record):
    """Something that happened, not yet numbered. Free text in it is already masked."""

    agent: str
    role: str
    kind: str
    summary: str
    details: dict[str, Any]


class Entry(Record):
    """An event as the ledger holds it."""

    seq: int
    at: float
    agent: str
    role: str
    kind: str
    summary: str
    details: dict[str, Any]
