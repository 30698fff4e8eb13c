"""Spellings of fields, statuses, and priorities: the one that is written, and those that are read."""

from __future__ import annotations

from dibs.core.tasks.rules import PRIORITIES, Status

#: Top-level keys in the documented order, which new files follow.
ORDER = (
    *("id", "agent", "status", "title", "priority", "mode", "artefacts", "context"),
    *("dependencies", "depends_on", "blocked_by", "reason", "retry_count"),
    *("created_at", "created_by", "assigned_at", "started_at", "completed_at"),
    *("result", "error"),
)

#: Other keys that the documents and their dashboard write; the board keeps and ignores them.
KEPT = frozenset(
    {
        *("artefacts_not_created", "artifacts_not_created", "description", "feature"),
        *("freeze_reason", "frozen_at", "last_modified", "notes", "specification", "tags"),
    }
)

#: Keys that people write in place of ours; the first one in a file is read.
ALIASES = {
    "id": ("task_id",),
    "agent": ("assigned_to",),
    "artefacts": ("artifacts", "artefact", "artifact"),
    "created_at": ("created",),
    "reason": ("blocked_reason", "cancel_reason"),
}
#: The same for keys of the result block.
RESULT_ALIASES = {
    "artefacts": ("artifacts", "artefact", "artifact"),
    "next_artefacts": ("next_artifacts",),
    "next_task_notes": ("next_notes",),
}
#: Top-level keys for dependencies, besides ``context.dependencies``; all of them are combined.
DEPENDENCIES = ("dependencies", "depends_on", "blocked_by")

KNOWN = frozenset({*ORDER, *KEPT, *DEPENDENCIES}).union(*ALIASES.values())

_STATUS_WORDS = {
    Status.NEW: "pending todo to_do open inbox queued backlog ready",
    Status.ASSIGNED: "claimed",
    Status.IN_PROGRESS: "inprogress wip doing started active working running",
    Status.BLOCKED: "waiting on_hold review in_review inreview needs_review",
    Status.DONE: "completed complete finished closed resolved",
    Status.ERROR: "failed failure errored",
    Status.CANCELLED: "canceled abandoned wontfix",
    Status.ARCHIVE: "archived",
}
#: What people write for a status, in lower case and with underscores.
STATUSES = {word: status for status, words in _STATUS_WORDS.items() for word in words.split()}
STATUSES |= {status: status for status in Status}

_PRIORITY_WORDS = {
    "critical": "p0 urgent blocker highest",
    "high": "p1",
    "medium": "p2 med moderate",
    "normal": "default",
    "low": "p3 p4 lowest minor",
}
PRIORITY_WORDS = {word: one for one, words in _PRIORITY_WORDS.items() for word in words.split()}
PRIORITY_WORDS |= {one: one for one in PRIORITIES}

#: Words that people write to mean nobody or nothing.
NOBODY = frozenset({"none", "unassigned", "n/a", "-", "tbd"})
