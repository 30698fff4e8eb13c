"""Forecasts as JSON; see docs/reference/json.md."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.core.changes.forecasts import Forecast, ForecastConflict, HunkLines, Pair

    Lines = Mapping[tuple[str, str, str], tuple[HunkLines, ...]]

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
        "conflicts": [pair(item, value.lines) for item in value.pairs if item.clashes],
        "cannot_merge": [
            {"agents": list(item.names), "why": item.why} for item in value.pairs if item.why
        ],
        "left_out": [
            {"party": item.party, "path": item.path or None, "why": item.why}
            for item in value.left
        ],
        "compared": len(value.compared), "met": value.met, "merged": value.merged,
    }  # fmt: skip


def pair(value: Pair, lines: Lines | None = None) -> Shape:
    """Shape a pair that would conflict; with ``lines``, each hunk has the text of both sides."""
    found = [_clash(c, (lines or {}).get((*value.names, c.path), ())) for c in value.clashes]
    return {"agents": list(value.names), "files": found}


def _clash(value: ForecastConflict, lines: Sequence[HunkLines]) -> Shape:
    hunks: list[Shape] = [
        {"lines": [[first, count], [other, others]]} for first, count, other, others in value.hunks
    ]
    for hunk, text in zip(hunks, lines, strict=False):
        hunk["sides"] = [{"text": list(side)} for side in (text.one, text.other)]
        hunk["cut"] = text.cut
    return {"path": value.path, "kind": value.kind, "note": value.note, "hunks": hunks}
