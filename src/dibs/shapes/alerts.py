"""Alerts as JSON; short because they have one form."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.alerts.values import Alert
    from dibs.services.alerts.service import AlertCheck


def alert(value: Alert) -> dict[str, Any]:
    """Shape an alert; ``by`` is null if nobody acknowledged it, or if it is resolved."""
    return {
        "id": value.id, "kind": value.kind, "severity": value.severity, "state": value.state,
        "subject": value.subject, "text": value.text, "command": value.command,
        "agents": list(value.agents), "author": value.agents[0] if value.agents else None,
        "key": value.key, "at": value.at,
        "by": value.by or None, "changed": value.changed or None, "reason": value.reason,
    }  # fmt: skip


def checked(value: AlertCheck, still_open: list[Alert]) -> dict[str, Any]:
    """Shape what a check changed, and what is open now."""
    return {
        "opened": [alert(one) for one in value.opened],
        "raised": [alert(one) for one in value.raised],
        "resolved": [alert(one) for one in value.resolved],
        "open": [alert(one) for one in still_open],
    }
