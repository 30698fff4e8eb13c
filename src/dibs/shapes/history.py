"""The history of a project as JSON, for ``GET /timeline``, ``dibs report --json``, and the report's page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.history.spans import AgentSpan, ClaimSpan, TaskSpan, TimelineMark, WaitSpan
    from dibs.services.history.service import Timeline

    Shape = dict[str, Any]

#: Times have microseconds; shorter text for thousands of them.
_DIGITS = 3


def timeline(value: Timeline, project: str) -> Shape:
    """Shape a part of the history."""
    spans = value.spans
    return {
        "project": project, "now": value.now, "since": value.since, "until": value.until,
        "known_since": value.known_since, "complete_since": value.complete_since,
        "truncated": value.truncated, "entries": spans.entries,
        "claims": [_claim(one) for one in spans.claims],
        "waits": [_wait(one) for one in spans.waits],
        "agents": [_agent(one) for one in spans.agents],
        "tasks": [_task(one) for one in spans.tasks],
        "marks": [_mark(one) for one in spans.marks],
        "series": {name: _rounded(part) for name, part in value.series._asdict().items()},
        "files": [_figures(one) for one in value.files],
        "work": [_figures(one) for one in value.work],
        "totals": _figures(value.totals),
    }  # fmt: skip


def _claim(value: ClaimSpan) -> Shape:
    return {
        "agent": value.agent, "pattern": value.pattern, "mode": value.mode, "token": value.token,
        "begin": value.begin, "end": value.end, "early": value.early, "how": value.how,
        "by": value.by or None, "reason": value.reason, "task": value.task,
    }  # fmt: skip


def _wait(value: WaitSpan) -> Shape:
    return {
        "agent": value.agent, "ticket": value.ticket, "patterns": list(value.patterns),
        "mode": value.mode, "begin": value.begin, "end": value.end, "how": value.how,
        "blocked_by": list(value.blocked_by), "turn": value.turn, "standing": value.standing,
    }  # fmt: skip


def _agent(value: AgentSpan) -> Shape:
    return {
        "agent": value.agent, "role": value.role, "parent": value.parent or None,
        "begin": value.begin, "end": value.end, "early": value.early, "how": value.how,
        "by": value.by or None, "last": value.last,
        "changes": [change._asdict() for change in value.changes],
    }  # fmt: skip


def _task(value: TaskSpan) -> Shape:
    return {**value._asdict(), "agent": value.agent or None}


def _mark(value: TimelineMark) -> Shape:
    return {
        "seq": value.seq, "at": value.at, "agent": value.agent, "by": value.by or None,
        "kind": value.kind, "group": value.group, "text": value.text, "paths": list(value.paths),
        "times": value.times,
    }  # fmt: skip


def _figures(value: Any) -> Shape:
    return {name: _rounded(part) for name, part in value._asdict().items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
