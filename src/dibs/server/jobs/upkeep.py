"""Jobs with effects outside the store: the ledger's files, the board, the forecast, and copies of work.

Of several servers that share a project, one prunes the ledger and runs the board. Each looks after the
worktrees and the copies of its own clone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.agents import Caller
from dibs.local.repository import trees
from dibs.services.board.orchestrator import ROLE, Orchestrator
from dibs.services.retention import trim
from dibs.services.salvage.retention import expire_copies
from dibs.services.schedule.leases import Leases
from dibs.services.state.ledger import Ledger

if TYPE_CHECKING:
    from dibs.project.project import Project
    from dibs.services.state.rows import Rows

PRUNING, BOARD, FORECAST, COPIES = (
    "activity-log-pruning", "board-cycle", "forecast", "salvage-expiry",
)  # fmt: skip
#: The interval of each job in seconds.
EVERY = {PRUNING: 3_600.0, BOARD: 60.0, FORECAST: 60.0, COPIES: 3_600.0}
#: How long one server may prune, and how long it does at most, in seconds.
_PRUNING_LEASE, _PRUNING_TIME = 600.0, 60.0
#: How long a server leads the board without renewing its lease, in seconds.
_BOARD_LEASE = 300.0
#: Who runs the board and warns of conflicts, in the ledger.
SERVER = Caller("dibs-server", ROLE)
#: A conflict needs two working trees.
_TWO = 2


def prune(project: Project) -> float | None:
    """Move old ledger entries to files, and delete old messages and decisions."""
    leases = Leases(project.store)
    if not leases.take(PRUNING, EVERY[PRUNING], _PRUNING_LEASE):
        return _PRUNING_LEASE
    try:
        Ledger(project.store).trim(_PRUNING_TIME)
        trim(project.store)
    finally:
        leases.done(PRUNING)
    return None


class BoardCycle:
    """Runs the board of one project, unless another server does."""

    def __init__(self) -> None:
        self._led = False

    def run(self, project: Project) -> float | None:
        """Run one cycle."""
        if project.board.begun():
            self._led = Leases(project.store).lead(BOARD, _BOARD_LEASE)
            if self._led:
                state = project.place.repository.state
                Orchestrator(project.store, project.board, state).cycle(SERVER)
        return None

    def stop(self, project: Project) -> None:
        """Leave the board to another server."""
        if self._led:
            Leases(project.store).done(BOARD)


class ForecastWatch:
    """Warns agents in worktrees whose changes would conflict, when they have changed something."""

    def __init__(self) -> None:
        self._last = 0.0

    def run(self, project: Project) -> float | None:
        """Forecast, if there are several working trees and an agent was active since the last time."""
        repository = project.place.repository
        if not repository.common or len(trees(repository)) < _TWO:
            return None
        now, active = project.store.look(_activity)
        if active <= self._last:
            return None
        forecasts = project.forecasts
        forecasts.warn(SERVER, forecasts.once())
        self._last = now
        return None


def _activity(rows: Rows) -> tuple[float, float]:
    """Return the time, and when an agent was last active."""
    times = (rows.active(agent.id) for agent in rows.agents() if agent.id != SERVER.id)
    return rows.now, max(times, default=0.0)


def expire_salvage(project: Project) -> None:
    """Delete copies of work that are older than the project keeps them."""
    repository = project.place.repository
    if repository.common and project.config.salvage_keep:
        expire_copies(project.store, project.salvage.calls())
