"""The kinds of alerts; short because the table of settings needs only their names."""

from __future__ import annotations

from dibs.startup.records import TextEnum


class AlertKind(metaclass=TextEnum):
    """What an alert is about."""

    STUCK_AGENT = "stuck_agent"
    CONTEXT_PRESSURE = "context_pressure"
    DUPLICATE_FILE_EDIT = "duplicate_file_edit"
    IDLE_AGENTS_READY_TASKS = "idle_agents_ready_tasks"
    STALE_DECISION = "stale_decision"
    STALE_CLAIM = "stale_claim"
    UNGUARDED_AGENT = "unguarded_agent"


ALERT_KINDS = tuple(AlertKind)
