"""How alerts change: one alert opens for each condition, and is resolved when the condition ends."""

from __future__ import annotations

from dibs.core.alerts.values import Alert, AlertState, Condition, rank
from dibs.errors import BadInput, NotAllowed
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


def plan(
    current: Mapping[str, Alert], found: Iterable[Condition], quiet: float, now: float
) -> AlertPlan:
    """Compare the alerts whose conditions held with those that hold now, by key.

    An event's condition holds until nothing happened for ``quiet`` seconds.
    """
    states: dict[str, Condition] = {}
    events: dict[str, list[Condition]] = {}
    for one in found:
        if one.seq:
            events.setdefault(one.key, []).append(one)
        else:
            states[one.key] = one
    made = AlertPlan([], [], [], [])
    for key, condition in states.items():
        known = current.get(key)
        if known is None:
            made.opens.append(condition)
        else:
            _compare(made, known, condition)
    for key, seen in events.items():
        _happened(made, current.get(key), seen)
    for key, alert in current.items():
        over = now >= alert.last + quiet if alert.seq else key not in states
        if over and key not in events:
            made.resolves.append(alert)
    return made


def _compare(made: AlertPlan, known: Alert, condition: Condition) -> None:
    """Follow a condition that lasts; one that became worse is open again, even if someone acknowledged it."""
    if rank(condition.severity) > rank(known.severity):
        made.raises.append(_renewed(known, condition))
    elif condition.severity != known.severity:
        made.updates.append(
            known._replace(
                severity=condition.severity, text=condition.text, command=condition.command
            )
        )


def _renewed(known: Alert, condition: Condition) -> Alert:
    return known._replace(
        severity=condition.severity, text=condition.text, command=condition.command,
        agents=condition.agents, state=AlertState.OPEN, by="", changed=condition.at, reason="",
    )  # fmt: skip


def _happened(made: AlertPlan, known: Alert | None, seen: list[Condition]) -> None:
    """Count occurrences of an event; the first one after its alert was resolved opens another alert."""
    fresh = [one for one in seen if known is None or one.seq > known.seq]
    if not fresh:
        return
    if known is None or not known.is_open:
        made.opens.append(fresh[-1])
        if known is not None:
            made.resolves.append(known)
        return
    last = fresh[-1]
    made.updates.append(
        known._replace(
            times=known.times + len(fresh), seq=last.seq, last=last.at, text=last.text,
            command=last.command, agents=last.agents,
        )
    )  # fmt: skip


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


def check_resolver(alert: Alert, who: str, *, human: bool) -> None:
    """Refuse an agent that resolves an alert about itself; it can end the condition, or acknowledge."""
    if not human and who in alert.agents:
        raise NotAllowed(
            f"{alert.id} is about {who}, which therefore cannot resolve it",
            code="OWN_ALERT",
            hint=f"end its cause, or tell the others that you know: dibs alerts ack {alert.id}",
        )


def resolved(alert: Alert, by: str, reason: str, now: float, *, holds: bool) -> Alert:
    """Return an alert as resolved; ``holds`` says that its condition may still hold."""
    if not alert.is_open:
        return alert._replace(holds=holds)
    return alert._replace(state=AlertState.RESOLVED, by=by, changed=now, reason=reason, holds=holds)
