"""Which ledger entries are marks on a timeline, and whom they concern.

Pure.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.history.spans import TimelineMark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.claims.ledger import Entry

#: The groups of marks, as legends name them.
COMMIT, MERGE, DENIAL, EXPIRY, KILL = "commit", "merge", "denial", "expiry", "kill"
REFUSAL, ALERT, DECISION, TASK = "refusal", "alert", "decision", "task"
REQUEST, TESTS, SAVED, FAULT, EDIT = "request", "tests", "saved", "fault", "edit"

#: The group of each kind that is a mark.
GROUPS = {
    Kind.COMMITTED: COMMIT,
    Kind.MERGED: MERGE,
    Kind.LOCK_DENIED: DENIAL,
    Kind.LOCK_EXPIRED: EXPIRY,
    Kind.LOCK_REVOKED: KILL,
    Kind.AGENT_CRASHED: KILL,
    Kind.AGENT_TERMINATED: KILL,
    Kind.LEDGER_RESTARTED: KILL,
    Kind.COMMIT_REFUSED: REFUSAL,
    Kind.MERGE_REFUSED: REFUSAL,
    Kind.WRITE_REFUSED: REFUSAL,
    Kind.FOREIGN_WRITE: REFUSAL,
    Kind.ALERT_OPENED: ALERT,
    Kind.ALERT_RAISED: ALERT,
    Kind.DECISION_ASKED: DECISION,
    Kind.DECISION_MADE: DECISION,
    Kind.CONFLICT_ESCALATED: DECISION,
    Kind.TASK_COMPLETED: TASK,
    Kind.TASK_FAILED: TASK,
    Kind.RELEASE_REQUESTED: REQUEST,
    Kind.RELEASE_ANSWERED: REQUEST,
    Kind.TESTS_PASSED: TESTS,
    Kind.TESTS_FAILED: TESTS,
    Kind.WORK_SALVAGED: SAVED,
    Kind.ERROR: FAULT,
    Kind.FILE_EDIT: EDIT,
}
#: Which detail names whom the entry concerns, if not its agent.
_CONCERNS = {
    Kind.LOCK_REVOKED: "holder",
    Kind.AGENT_TERMINATED: "toAgentId",
    Kind.ALERT_OPENED: "agents",
}
_PATH_KEYS = ("paths", "path", "patterns", "pattern", "held")


def mark_of(entry: Entry, group: str) -> TimelineMark:
    """Return an entry as a mark."""
    seq, at, by, _, kind, summary, details = entry
    agent = by
    if kind in _CONCERNS:
        named = texts(details.get(_CONCERNS[kind]))
        agent = named[0] if named else by
    paths: tuple[str, ...] = ()
    for key in _PATH_KEYS:
        if key in details and (paths := texts(details[key])):
            break
    count = details.get("count", 1) if kind == Kind.FILE_EDIT else 1
    return TimelineMark(
        seq, at, agent, by if by != agent else "", kind, group, summary, paths,
        count if type(count) is int else 1,
    )  # fmt: skip


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a detail: one, several, or none, whatever an entry contains."""
    if type(value) is str:
        return (value,) if value else ()
    if type(value) is list or type(value) is tuple:
        return tuple([one for one in value if type(one) is str and one])
    return ()
