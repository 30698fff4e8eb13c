"""How alerts change: one alert opens for each condition, and is resolved when the condition ends."""

from __future__ import annotations

from dibs.core.alerts.values import Alert, AlertState, Condition, rank
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Why an alert was resolved.
_OVER = "the condition ended"


class AlertPlan(Record):
    """What has to change."""

    #: Conditions without an alert.
    opens: list[Condition]
    #: Alerts whose condition became more severe, and their new values.
    raises: list[Alert]
    #: Alerts that only have to be written again.
    updates: list[Alert]
    #: Alerts whose condition ended.
    resolves: list[Alert]


def plan(current: Mapping[str, Alert], found: Iterable[Condition]) -> AlertPlan:
    """Compare the open alerts with the conditions that hold now, by key."""
    made = AlertPlan([], [], [], [])
    ended = dict(current)
    for condition in found:
        known = ended.pop(condition.key, None)
        if known is None:
            made.opens.append(condition)
        else:
            _compare(made, known, condition)
    made.resolves.extend(ended.values())
    return made


def _compare(made: AlertPlan, known: Alert, condition: Condition) -> None:
    """Follow a condition that lasts; one that became worse is open again, even if someone acknowledged it."""
    if rank(condition.severity) > rank(known.severity):
        made.raises.append(
            known._replace(
                severity=condition.severity, text=condition.text, command=condition.command,
                agents=condition.agents, state=AlertState.OPEN, by="", reason="",
            )
        )  # fmt: skip
    elif condition.severity != known.severity:
        made.updates.append(
            known._replace(
                severity=condition.severity, text=condition.text, command=condition.command
            )
        )


def acknowledged(alert: Alert, by: str, reason: str, now: float) -> Alert:
    """Return an open alert as acknowledged; a repeat by the same person changes nothing."""
    if alert.state == AlertState.ACKNOWLEDGED and alert.by == by:
        return alert
    if not alert.is_open:
        raise BadInput(
            f"{alert.id} is already resolved", code="ALERT_RESOLVED", field="id",
            hint="list the open alerts: dibs alerts",
        )  # fmt: skip
    return alert._replace(state=AlertState.ACKNOWLEDGED, by=by, changed=now, reason=reason)


def resolved(alert: Alert, now: float) -> Alert:
    """Return an alert as resolved, because its condition ended."""
    return alert._replace(state=AlertState.RESOLVED, by="", changed=now, reason=_OVER)
