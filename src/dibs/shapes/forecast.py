"""Forecasts as JSON; see docs/reference/json.md."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.core.changes.forecasts import Forecast, ForecastConflict, Pair

    Shape = dict[str, Any]


def shape(value: Forecast) -> Shape:
    """Shape a forecast."""
    return {
        "base": value.base,
        "parties": [
            {
                "name": party.name, "path": party.path or None, "branch": party.branch or None,
                "head": party.head, "dirty": party.dirty, "base": party.base,
            }
            for party in value.parties
        ],
        "conflicts": [pair(item) for item in value.pairs if item.clashes],
        "cannot_merge": [
            {"agents": list(item.names), "why": item.why} for item in value.pairs if item.why
        ],
        "left_out": [
            {"party": item.party, "path": item.path or None, "why": item.why}
            for item in value.left
        ],
        "compared": len(value.compared), "met": value.met, "merged": value.merged,
    }  # fmt: skip


def pair(value: Pair) -> Shape:
    """Shape a pair that would conflict."""
    return {"agents": list(value.names), "files": [_clash(clash) for clash in value.clashes]}


def _clash(value: ForecastConflict) -> Shape:
    hunks = [
        {"lines": [[first, count], [other, others]]} for first, count, other, others in value.hunks
    ]
    return {"path": value.path, "kind": value.kind, "note": value.note, "hunks": hunks}
