"""Rows of alerts, and how far the rules have read the ledger."""

from __future__ import annotations

from dibs.core.alerts.values import RING, Alert
from dibs.services.state.keys import ALERT, WATCH
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.state.rows import Rows

_ROW = f"{WATCH}alerts"


class WatchRow(Record):
    """What the last check that changed something had seen."""

    #: The number of the last ledger entry that was read.
    seen: int = 0
    #: The time of its view; a result of an older view is out of date.
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
    for alert in [one for one in known if not one.holds][: max(0, len(known) - RING)]:
        rows.txn.delete(_key(alert.id))


def _key(id_: str) -> str:
    return f"{ALERT}{int(id_.removeprefix('a')):016d}"


def _alert(value: str) -> Alert:
    record = decode(value)
    record["agents"] = tuple(record["agents"])
    return Alert(**record)


def watched(rows: Rows) -> WatchRow | None:
    """Return how far the rules have read; None if they never ran."""
    value = rows.txn.get(_ROW)
    return None if value is None else WatchRow(**decode(value))


def put_watched(rows: Rows, row: WatchRow) -> None:
    """Write how far the rules have read."""
    rows.txn.put(_ROW, encode(row._asdict()))
