"""Compute which keys of a file must change to turn one task into another."""

from __future__ import annotations

from dibs.core.tasks.rules import Status, Task
from dibs.taskfile.scalars import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.taskfile.scalars import Value

#: Fields of a task that are one key each, in the documented order.
_SIMPLE = {
    "agent": "agent",
    "status": "status",
    "title": "title",
    "priority": "priority",
    "mode": "mode",
    "artefacts": "artefacts",
    "created_by": "created_by",
    "reason": "reason",
}
_MOMENTS = {
    "created": "created_at",
    "assigned": "assigned_at",
    "started": "started_at",
    "completed": "completed_at",
}
#: Keys that stay in the file when they become empty, with their position and comment.
_EMPTY_STAYS = frozenset({"agent"})


def changes_for(before: Task, after: Task) -> dict[str, Value]:
    """Return what ``writing.edit`` must set, or remove (None), in the file of ``before``."""
    changes: dict[str, Value] = {}
    if before == after:
        return changes
    old, new = before._asdict(), after._asdict()
    for field, key in _SIMPLE.items():
        if old[field] != new[field]:
            value = new[field]
            value = list(value) if isinstance(value, tuple) else value
            changes[key] = value if value or key in _EMPTY_STAYS else None
    if before.dependencies != after.dependencies:
        changes["dependencies"] = list(after.dependencies)
    for field, key in _MOMENTS.items():
        if int(old[field]) != int(new[field]):
            changes[key] = stamp(new[field]) if new[field] else None
    _result(before, after, changes)
    _error(before, after, changes)
    return changes


def _result(before: Task, after: Task, changes: dict[str, Value]) -> None:
    old, new = _result_of(before), _result_of(after)
    if old == new:
        if before.completed and not after.completed:
            changes["result"] = {"completed_at": None}  # it may be there instead of at the top
        return
    if new is None:
        # An empty result stays in the file when it is archived.
        if after.status != Status.ARCHIVE or before.summary or before.made or before.handoff:
            changes["result"] = None
    elif old is None:
        changes["result"] = new
    else:
        gone: dict[str, Value] = {key: None for key in old if key not in new}
        changes["result"] = {**{k: v for k, v in new.items() if old.get(k) != v}, **gone}


def _result_of(task: Task) -> dict[str, Value] | None:
    if not (task.summary or task.made or task.handoff or task.status == Status.DONE):
        return None
    block: dict[str, Value] = {"summary": task.summary, "artefacts": list(task.made)}
    if task.handoff is not None:
        block["next_agent"] = task.handoff.agent
        if task.handoff.title:
            block["next_task_title"] = task.handoff.title
        if task.handoff.artefacts:
            block["next_artefacts"] = list(task.handoff.artefacts)
        if task.handoff.notes:
            block["next_task_notes"] = list(task.handoff.notes)
    if task.completed:
        block["completed_at"] = stamp(task.completed)
    return block


def _error(before: Task, after: Task, changes: dict[str, Value]) -> None:
    old, new = _error_of(before), _error_of(after)
    if old != new:
        changes["error"] = new
    counted = 0 if old else before.retries
    count = 0 if new else after.retries
    if counted != count:
        changes["retry_count"] = count or None


def _error_of(task: Task) -> dict[str, Value] | None:
    if task.status != Status.ERROR and not task.error:
        return None
    return {"message": task.error, "agent": task.agent, "retry_count": task.retries}
