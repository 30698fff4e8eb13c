"""Time actions in interleaved rounds, so that load affects all of them equally."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Row(NamedTuple):
    """One row of the report: what was measured, the figure, the goal, and whether it was met."""

    what: str
    figure: str
    goal: str = ""
    met: bool | None = None


class Section(NamedTuple):
    """One table of the report."""

    title: str
    note: str
    rows: list[Row]


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of the samples are below."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(samples: Sequence[float]) -> float:
    """Return the middle sample."""
    return percentile(samples, 0.5)


def blocks(
    actions: dict[str, Callable[[int], object]], *, rounds: int, each: int
) -> dict[str, list[float]]:
    """Time the calls of several actions, alternating in blocks of ``each`` calls; return seconds per call.

    Blocks keep each action's caches warm; alternating spreads changes in load over all actions.
    """
    samples: dict[str, list[float]] = {name: [] for name in actions}
    clock = time.perf_counter
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for name, action in actions.items():
                mine = samples[name]
                for number in range(turn * each, (turn + 1) * each):
                    start = clock()
                    action(number)
                    mine.append(clock() - start)
    finally:
        gc.enable()
    return samples


def at_most(what: str, value: float, goal: float, unit: str = "x") -> Row:
    """Return a row whose figure must not exceed its goal."""
    return Row(what, f"{value:.2f}{unit}", f"≤ {goal:g}{unit}", value <= goal)


def at_least(what: str, value: float, goal: float, unit: str = "x") -> Row:
    """Return a row whose figure must not fall below its goal."""
    return Row(what, f"{value:.2f}{unit}", f"≥ {goal:g}{unit}", value >= goal)
