"""Tasks as JSON."""

from __future__ import annotations

from dibs.services.tasks.values import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.core.tasks.rules import Handoff, Task
    from dibs.services.board.imports import ImportedFiles
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import Created, NothingFree, SimilarTask, TakenTask, TaskView

    Shape = dict[str, Any]


def stored(value: Stored) -> Shape:
    """Shape a task as it is stored, without the text of its file."""
    task = value.task
    return {
        "id": task.id, "file": path(value), "state": task.status, "holder": value.holder or None,
        **_said(task), "attempt": value.attempt, "token": value.token or None,
        "doer": value.doer or None, "follow_up": value.follower or None, "version": value.version,
    }  # fmt: skip


def path(value: Stored) -> str:
    """Return the path of a task's file relative to the board; in the queue, its name."""
    return value.file if value.place == QUEUE else f"{value.place}/{value.file}"


def _said(task: Task) -> Shape:
    return {
        "title": task.title, "agent": task.agent or None, "priority": task.priority,
        "mode": task.mode or None, "artefacts": list(task.artefacts),
        "dependencies": list(task.dependencies), "created_at": task.created or None,
        "created_by": task.created_by or None, "assigned_at": task.assigned or None,
        "started_at": task.started or None, "completed_at": task.completed or None,
        "result": _result(task), "error": task.error or None, "retries": task.retries,
        "reason": task.reason,
    }  # fmt: skip


def _result(task: Task) -> Shape | None:
    if not (task.summary or task.made or task.handoff):
        return None
    return {"summary": task.summary, "artefacts": list(task.made), "next": _next(task.handoff)}


def _next(handoff: Handoff | None) -> Shape | None:
    if handoff is None:
        return None
    return {
        "agent": handoff.agent, "title": handoff.title, "artefacts": list(handoff.artefacts),
        "notes": list(handoff.notes),
    }  # fmt: skip


def shown(value: TaskView) -> Shape:
    """Shape a task as a listing shows it."""
    return {
        **stored(value.stored), "state": value.state, "ready": value.ready,
        "why": list(value.why), "dependents": list(value.dependents),
        "holder": value.holder or None,
        "expires_in": round(value.expires_in, 3) if value.holder else None,
        "archived": value.past is not None,
    }  # fmt: skip


def whole(value: TaskView, entries: list[Entry]) -> Shape:
    """Shape one task in detail."""
    from dibs.shapes import claims

    return {
        "task": {**shown(value), "text": value.stored.text},
        "log": [claims.entry(entry) for entry in entries],
    }


def taken(value: TakenTask) -> Shape:
    """Shape the answer for a taken task."""
    from dibs.shapes import claims

    claim = value.granted.claims[0]
    task = {**stored(value.stored), "holder": claim.agent, "text": value.stored.text}
    return {**claims.outcome(value.granted), "task": task}


def nothing_free(value: NothingFree, steps: list[str]) -> Shape:
    """Shape the answer if no task is available."""
    from dibs.shapes import claims

    tasks = [*map(shown, value.tasks), *map(claims.task, value.queue)]
    why = "timeout" if value.waited else "held"
    return {
        "outcome": "denied", "why": why, "tasks": tasks, "ahead": value.ahead, "next": steps
    }  # fmt: skip


def created(value: Created, *, dry_run: bool) -> Shape:
    """Shape created tasks, or those that would be created, and similar ones."""
    word = "would_create" if dry_run else "created"
    return {word: [*map(stored, value.tasks)], "similar": [*map(likeness, value.similar)]}


def imported(value: ImportedFiles, *, dry_run: bool) -> Shape:
    """Shape imported task files, or those that would be imported."""
    files = [{"from": file.old, "to": file.new, "kept": file.kept or None} for file in value.moved]
    skipped = [{"file": file.path, "reason": file.why} for file in value.skipped]
    moves = {"would_move" if dry_run else "moved": files, "skipped": skipped}
    return {**created(value.created, dry_run=dry_run), **moves}


def moved(word: str, value: Stored, similar: Sequence[SimilarTask] | None) -> Shape:
    """Shape a task after a change, and tasks similar to its handoff."""
    alike = {} if similar is None else {"similar": [*map(likeness, similar)]}
    return {word: stored(value), **alike}


def likeness(value: SimilarTask) -> Shape:
    """Shape an active task that is similar to a new one."""
    return {
        "id": value.id, "other": value.other, "title": value.title,
        "share": round(value.share, 2), "paths": list(value.paths),
    }  # fmt: skip
