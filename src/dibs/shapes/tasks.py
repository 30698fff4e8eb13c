"""Tasks as JSON."""

from __future__ import annotations

from dibs.core.text.durations import show_span
from dibs.core.text.names import printable
from dibs.services.tasks.values import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.ledger import Entry
    from dibs.core.tasks.rules import Handoff, Task
    from dibs.services.board.listing import TaskListing
    from dibs.services.board.orchestrator import Cycle
    from dibs.services.board.validate import BoardCheck
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
    """Return the path of a task's file relative to the board; in the lock-file queue, its name."""
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


def movable(value: TaskView, caller: Caller) -> Shape:
    """Shape the transitions of a task that the caller can make, and why others are closed."""
    from dibs.core.tasks.moves import TaskStanding, closed, moves

    row = value.stored
    waits = value.state != row.task.status
    standing = TaskStanding(
        value.holder, bool(row.token), row.asked, ready=value.ready, waits=waits
    )
    if value.past:
        return {"moves": [], "closed": []}
    return {
        "moves": [
            {**move._asdict(), "needs": list(move.needs)}
            for move in moves(row.task, standing, caller)
        ],
        "closed": [
            {"to": state, "why": why} for state, why in closed(row.task, standing, caller).items()
        ],
    }


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


def listing(value: TaskListing) -> Shape:
    """Shape a listing of tasks; ``stale`` says why the lock-file queue is shown in an older state."""
    from dibs.shapes import claims

    return {
        "tasks": [*map(shown, value.tasks), *map(claims.task, value.queue)], "done": value.done,
        "set_aside": [found._asdict() for found in value.aside],
        **({"stale": value.stale} if value.stale else {}),
    }  # fmt: skip


def checked(value: BoardCheck, *, quiet: bool = False) -> Shape:
    """Shape what is wrong with task files; if ``quiet``, without notes."""
    found = [item._asdict() for item in value.findings if item.fatal or not quiet]
    return {"files": value.files, "wrong": value.wrong, "findings": found}


def cycle(value: Cycle) -> Shape:
    """Shape one cycle of the orchestrator."""
    return {
        "assigned": list(value.assigned), "followups": list(value.followups),
        "timeouts": [{"task": task, "action": action} for task, action in value.timeouts],
        "conflicts": [{"tasks": [a, b], "path": path} for a, b, path in value.conflicts],
        "archived": list(value.archived), "returned": list(value.returned),
        "set_aside": [found._asdict() for found in value.aside],
        "troubles": [{"task": task, "message": message} for task, message in value.troubles],
        "accepted": list(value.accepted), "restored": list(value.restored),
        "commits": list(value.commits), "left": value.left, "unpushed": value.unpushed,
    }  # fmt: skip


def take_steps(value: NothingFree, roles: Sequence[str]) -> list[str]:
    """Return what to do if no task is available."""
    held = [task.expires_in for task in value.tasks if task.holder]
    held += [task.expires_in for task in value.queue if task.holder]
    soon = ""
    if held:
        left = show_span(max(0, round(min(held))))
        soon = f"the earliest claim expires in {left} unless renewed; "
    options = "".join(f" --role {printable(role)}" for role in roles)
    waits = [f"{soon}to wait: dibs task take{options} --wait 5m"]
    return [*waits, "to see all tasks: dibs task ls"] if value.tasks else waits
