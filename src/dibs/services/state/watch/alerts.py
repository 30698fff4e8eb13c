"""Rows of alerts, and when they were last checked."""

from __future__ import annotations

from dibs.core.alerts.values import RING, Alert
from dibs.services.state.keys import ALERT, WATCH
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows

_ROW = f"{WATCH}alerts"


class AlertsCheck(Record):
    """When the alerts were checked."""

    at: float = 0.0


def put_alert(rows: Rows, alert: Alert) -> None:
    """Write an alert."""
    rows.txn.put(_key(alert.id), encode(alert._asdict()))


def get_alert(rows: Rows, id_: str) -> Alert | None:
    """Return the alert with this id, which must be well-formed."""
    value = rows.txn.get(_key(id_))
    return None if value is None else _alert(value)


def alerts(rows: Rows) -> list[Alert]:
    """Return all alerts, oldest first."""
    return [_alert(value) for _, value in rows.txn.scan((ALERT, ""))]


def drop_surplus(rows: Rows) -> None:
    """Delete the oldest alerts beyond the ring whose conditions have ended."""
    known = alerts(rows)
    for alert in [one for one in known if not one.is_open][: max(0, len(known) - RING)]:
        rows.txn.delete(_key(alert.id))


def _key(id_: str) -> str:
    return f"{ALERT}{int(id_.removeprefix('a')):016d}"


def _alert(value: str) -> Alert:
    record = decode(value)
    record["agents"] = tuple(record["agents"])
    return Alert(**record)


def checked_at(rows: Rows) -> float:
    """Return the time of the newest view whose result was written; older ones are out of date."""
    value = rows.txn.get(_ROW)
    return 0.0 if value is None else AlertsCheck(**decode(value)).at


def put_checked(rows: Rows, at: float) -> None:
    """Write the time of a view whose result was written."""
    rows.txn.put(_ROW, encode(AlertsCheck(at)._asdict()))
