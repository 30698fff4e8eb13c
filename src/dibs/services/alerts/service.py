"""Check a project for conditions that need attention, and acknowledge and resolve alerts.

A check reads everything in one view, decides, and writes the changes in one transaction. The transaction
discards a result of a view that is older than the last one that was written, so two servers that check at
once open each alert once.
"""

from __future__ import annotations

from dibs.core.alerts import transitions
from dibs.core.alerts.facts import TroubleFact
from dibs.core.alerts.kinds import AlertKind
from dibs.core.alerts.rules import conditions
from dibs.core.alerts.values import (
    RING,
    Alert,
    Thresholds,
    check_alert_id,
    no_alert,
    rank,
)
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.text.findings import Level
from dibs.services.alerts.gather import MOST_ENTRIES, gather
from dibs.services.state.lifecycle import STORE
from dibs.services.state.presence import arrive
from dibs.services.state.watch.alerts import (
    WatchRow,
    alerts,
    drop_surplus,
    get_alert,
    put_alert,
    put_watched,
    watched,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.load import Config
    from dibs.core.alerts.facts import AlertFacts
    from dibs.core.alerts.values import Condition
    from dibs.core.claims.agents import Caller
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: After how many new entries the position in the ledger is written, even if nothing else changed.
_FAR = 500
#: How often a check starts again because another one was faster.
_TRIES = 5
#: Why an alert was resolved by itself.
_OVER = "the condition ended"


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

        def changed(rows: Rows, alert: Alert) -> Alert:
            return transitions.acknowledged(alert, caller.id, words, rows.now)

        return self._each(caller, ids, changed, Kind.ALERT_ACKNOWLEDGED)

    def resolve(self, caller: Caller, ids: Sequence[str], reason: str = "") -> list[Alert]:
        """Resolve alerts, all or nothing; none opens again while its condition goes on."""
        words = check_text(reason.strip(), "reason")

        def changed(rows: Rows, alert: Alert) -> Alert:
            transitions.check_resolver(alert, caller.id, human=caller.human)
            return transitions.resolved(alert, caller.id, words, rows.now, holds=alert.holds)

        return self._each(caller, ids, changed, Kind.ALERT_RESOLVED)

    def _each(
        self,
        caller: Caller,
        ids: Sequence[str],
        change: Callable[[Rows, Alert], Alert],
        kind: str,
    ) -> list[Alert]:
        known = list(dict.fromkeys(map(check_alert_id, ids)))

        def step(rows: Rows) -> list[Alert]:
            role = arrive(rows, caller).role
            found = []
            for alert in [_known(rows, id_) for id_ in known]:
                new = change(rows, alert)
                if new != alert:
                    put_alert(rows, new)
                    _tell(rows, caller.id, role, kind, new)
                found.append(new)
            return found

        return self._store.apply(step)

    def check(self, *, inspect: bool = True, events: Sequence[Condition] = ()) -> AlertCheck:
        """Open alerts for new conditions, and resolve those whose conditions ended.

        ``inspect`` also checks the store itself, which takes longer. ``events`` happened outside the ledger.
        Does nothing if the state is stale because the engine is unreachable.
        """
        limits = thresholds(self._store.config)
        ttl = self._store.config.ttl
        outside = _Outside(self._troubles() if inspect else None, tuple(events))
        for _ in range(_TRIES):
            seen = self._store.look(lambda rows: _look(rows, ttl, limits, outside))
            if self._store.engine.as_of is not None or not seen.matters:
                return NOTHING
            done = self._store.apply(lambda rows: _write(rows, seen, limits))  # noqa: B023
            if done is not None:
                return done
        return NOTHING

    def _troubles(self) -> list[TroubleFact]:
        found = self._store.engine.inspect()
        return [TroubleFact(one.what, one.text) for one in found if one.level == Level.BAD]


class _Outside(Record):
    """What is not in the store: its own troubles, None if unknown, and events."""

    troubles: list[TroubleFact] | None
    events: tuple[Condition, ...]


class _Seen(Record):
    """One view: its facts, and the last entry that it read."""

    facts: AlertFacts
    outside: _Outside
    last: int
    #: Whether there is anything to write.
    matters: bool


def _look(rows: Rows, ttl: float, limits: Thresholds, outside: _Outside) -> _Seen:
    facts = gather(rows, ttl, limits, outside.troubles or ())
    newest = next((entry.seq for entry in rows.events(newest_first=True)), 0)
    before = watched(rows)
    last = facts.entries[-1].seq if len(facts.entries) >= MOST_ENTRIES else newest
    far = before is None or last - before.seen >= _FAR
    planned = _plan(rows, facts, limits, outside)
    return _Seen(facts, outside, last, far or any(planned))


def _plan(
    rows: Rows, facts: AlertFacts, limits: Thresholds, outside: _Outside
) -> transitions.AlertPlan:
    current = {
        alert.key: alert
        for alert in alerts(rows)
        if alert.holds and (alert.seq or _is_known(alert.kind, outside))
    }
    found = conditions(facts, limits, current)
    found += [one for one in outside.events if one.kind not in limits.off]
    return transitions.plan(current, found, limits.quiet, facts.now)


def _is_known(kind: str, outside: _Outside) -> bool:
    """Return whether a check can tell that a condition of this kind ended."""
    return kind != AlertKind.ENGINE_DEGRADED or outside.troubles is not None


def _write(rows: Rows, seen: _Seen, limits: Thresholds) -> AlertCheck | None:
    """Write what a view found; None if a later view was written first."""
    before = watched(rows)
    if before is not None and (before.at > seen.facts.now or before.seen > seen.last):
        return None
    done = before.seen if before is not None else 0
    fresh = tuple(entry for entry in seen.facts.entries if entry.seq > done)
    planned = _plan(rows, seen.facts._replace(entries=fresh), limits, seen.outside)
    resolved = [_end(rows, alert) for alert in planned.resolves]
    for alert in planned.updates:
        put_alert(rows, alert)
    for alert in planned.raises:
        raised = alert._replace(changed=rows.now)
        put_alert(rows, raised)
        _tell(rows, STORE, "store", Kind.ALERT_RAISED, raised)
    room = RING - sum(1 for alert in alerts(rows) if alert.holds)
    worst = sorted(planned.opens, key=lambda one: -rank(one.severity))
    opened = [_open(rows, one) for one in worst[: max(0, room)]]
    put_watched(rows, WatchRow(seen.last, seen.facts.now))
    drop_surplus(rows)
    return AlertCheck(opened, planned.raises, [one for one in resolved if one is not None])


def _open(rows: Rows, one: Condition) -> Alert:
    seq = rows.emit(
        STORE, "store", Kind.ALERT_OPENED, f"{one.severity} {one.kind}: {one.text}",
        alert_kind=one.kind, severity=one.severity, subject=one.subject, text=one.text,
        command=one.command, agents=list(one.agents)[:20], key=one.key,
    )  # fmt: skip
    alert = Alert(
        f"a{seq}", one.key, one.kind, one.severity, one.subject, one.text, one.command, one.agents,
        rows.now, seq=one.seq, last=one.at,
    )  # fmt: skip
    put_alert(rows, alert)
    return alert


def _end(rows: Rows, alert: Alert) -> Alert | None:
    """Record that a condition ended; None if someone had resolved its alert before."""
    new = transitions.resolved(alert, "", _OVER, rows.now, holds=False)
    put_alert(rows, new)
    if not alert.is_open:
        return None
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


def thresholds(config: Config) -> Thresholds:
    """Return the thresholds of a project."""
    return Thresholds(
        config.alerts_off, config.alerts_stuck, config.alerts_model_call,
        config.alerts_context_warning, config.alerts_context_critical, config.alerts_idle,
        config.alerts_decision, config.alerts_convoy_waiters, config.alerts_convoy_wait,
        config.alerts_claim, config.alerts_edits, config.alerts_quiet, config.board_timeout,
    )  # fmt: skip
