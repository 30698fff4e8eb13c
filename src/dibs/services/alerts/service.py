"""Check a project for conditions that need attention, and acknowledge alerts.

A check reads everything in one view, decides, and writes the changes in one transaction. The transaction
discards a result of a view that is older than the last one that was written, so two servers that check at
once open each alert once.
"""

from __future__ import annotations

from dibs.core.alerts import transitions
from dibs.core.alerts.rules import conditions
from dibs.core.alerts.values import RING, Alert, check_alert_id, no_alert, rank
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.services.alerts.gather import gather
from dibs.services.state.lifecycle import STORE
from dibs.services.state.presence import arrive
from dibs.services.state.watch.alerts import (
    alerts,
    checked_at,
    drop_surplus,
    get_alert,
    put_alert,
    put_checked,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.alerts.facts import AlertFacts
    from dibs.core.alerts.values import Condition
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How often a check starts again because another one was faster.
_TRIES = 5


class AlertCheck(Record):
    """What a check changed."""

    opened: list[Alert]
    raised: list[Alert]
    resolved: list[Alert]

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return bool(self.opened or self.raised or self.resolved)


NOTHING = AlertCheck([], [], [])


class Alerts:
    """The alerts of one project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self, *, resolved: bool = False) -> list[Alert]:
        """Return the alerts, oldest first; those that are resolved only if wanted."""
        found = self._store.look(alerts)
        return [alert for alert in found if resolved or alert.is_open]

    def show(self, id_: str) -> Alert:
        """Return one alert."""
        known = check_alert_id(id_)
        return self._store.look(lambda rows: _known(rows, known))

    def acknowledge(self, caller: Caller, ids: Sequence[str], reason: str = "") -> list[Alert]:
        """Record that someone takes care of alerts, all or nothing; a repeat changes nothing."""
        words = check_text(reason.strip(), "reason")
        known = list(dict.fromkeys(map(check_alert_id, ids)))

        def step(rows: Rows) -> list[Alert]:
            role = arrive(rows, caller).role
            found = []
            for alert in [_known(rows, id_) for id_ in known]:
                new = transitions.acknowledged(alert, caller.id, words, rows.now)
                if new != alert:
                    put_alert(rows, new)
                    _tell(rows, caller.id, role, Kind.ALERT_ACKNOWLEDGED, new)
                found.append(new)
            return found

        return self._store.apply(step)

    def check(self) -> AlertCheck:
        """Open alerts for new conditions, and resolve those whose conditions ended.

        Does nothing if the state is stale because the engine is unreachable.
        """
        config = self._store.config
        for _ in range(_TRIES):
            facts = self._store.look(lambda rows: _look(rows, config.ttl, config.alerts_off))
            if self._store.engine.as_of is not None or facts is None:
                return NOTHING
            done = self._store.apply(lambda rows: _write(rows, facts, config.alerts_off))  # noqa: B023
            if done is not None:
                return done
        return NOTHING


def _look(rows: Rows, ttl: float, off: Sequence[str]) -> AlertFacts | None:
    """Return the facts of one view, None if they change nothing."""
    facts = gather(rows, ttl)
    return facts if any(_plan(rows, facts, off)) else None


def _plan(rows: Rows, facts: AlertFacts, off: Sequence[str]) -> transitions.AlertPlan:
    current = {alert.key: alert for alert in alerts(rows) if alert.is_open}
    return transitions.plan(current, conditions(facts, current, off))


def _write(rows: Rows, facts: AlertFacts, off: Sequence[str]) -> AlertCheck | None:
    """Write what a view found; None if a later view was written first."""
    if checked_at(rows) > facts.now:
        return None
    planned = _plan(rows, facts, off)
    resolved = [_end(rows, alert) for alert in planned.resolves]
    for alert in planned.updates:
        put_alert(rows, alert)
    raised = [alert._replace(changed=rows.now) for alert in planned.raises]
    for alert in raised:
        put_alert(rows, alert)
        _tell(rows, STORE, "store", Kind.ALERT_RAISED, alert)
    room = RING - sum(1 for alert in alerts(rows) if alert.is_open)
    worst = sorted(planned.opens, key=lambda one: -rank(one.severity))
    opened = [_open(rows, one) for one in worst[: max(0, room)]]
    put_checked(rows, facts.now)
    drop_surplus(rows)
    return AlertCheck(opened, raised, resolved)


def _open(rows: Rows, one: Condition) -> Alert:
    seq = rows.emit(
        STORE, "store", Kind.ALERT_OPENED, f"{one.severity} {one.kind}: {one.text}",
        alert_kind=one.kind, severity=one.severity, subject=one.subject, text=one.text,
        command=one.command, agents=list(one.agents)[:20], key=one.key,
    )  # fmt: skip
    alert = Alert(
        f"a{seq}", one.key, one.kind, one.severity, one.subject, one.text, one.command, one.agents,
        rows.now,
    )  # fmt: skip
    put_alert(rows, alert)
    return alert


def _end(rows: Rows, alert: Alert) -> Alert:
    """Record that a condition ended."""
    new = transitions.resolved(alert, rows.now)
    put_alert(rows, new)
    _tell(rows, STORE, "store", Kind.ALERT_RESOLVED, new)
    return new


def _tell(rows: Rows, agent: str, role: str, kind: str, alert: Alert) -> None:
    word = kind.removeprefix("alert_")
    why = f" ({alert.reason})" if alert.reason else ""
    rows.emit(
        agent, role, kind, f"{word} {alert.id}: {alert.text}{why}",
        alert=alert.id, alert_kind=alert.kind, severity=alert.severity, subject=alert.subject,
        text=alert.text, command=alert.command, agents=list(alert.agents)[:20], key=alert.key,
        reason=alert.reason,
    )  # fmt: skip


def _known(rows: Rows, id_: str) -> Alert:
    found = get_alert(rows, id_)
    if found is None:
        raise no_alert(id_)
    return found
