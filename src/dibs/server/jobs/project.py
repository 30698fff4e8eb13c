"""The jobs of one project, and what makes them run earlier than at their interval.

Some change only the store: they may run in several servers at once, because each transaction checks again
whether there is something left to do. The others have effects outside the store; of several servers, one runs
them (``services/schedule``).
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.core.claims.ledger import Kind
from dibs.errors import DibsError
from dibs.server.jobs import upkeep
from dibs.server.jobs.watch import SessionWatch
from dibs.server.scheduler import Job
from dibs.services.claims.expiry import expire_due
from dibs.services.guard.liveness import Liveness

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Project
    from dibs.server.events.feed import Batch, Feeds
    from dibs.server.projects import Projects, ServedProject
    from dibs.server.scheduler import Scheduler

CLEANUP, SESSIONS, HEARTBEATS = "expired-lock-cleanup", "session-checks", "heartbeats"
#: The interval of each job in seconds, apart from what makes it run earlier.
EVERY = {CLEANUP: 60.0, SESSIONS: 1.0, HEARTBEATS: 60.0, **upkeep.EVERY}
#: The least time between two cleanups, and how much later than its deadline something is looked at.
_SHORTEST, _AFTER = 0.02, 0.001
#: How soon to look for new deadlines after something that may have set one, in seconds.
_SOON = 0.1
#: A heartbeat may be due in this share of a new claim's ttl.
_SHARE = 1 / 4
#: Entries after which there may be a new deadline, of a kind that the entry does not say.
_DEADLINES = frozenset({
    Kind.LOCK_QUEUED, Kind.LOCK_TURN, Kind.LOCK_RENEWED, Kind.LOCK_TRANSFERRED, Kind.RELEASE_REQUESTED,
    Kind.RELEASE_ANSWERED, Kind.DECISION_ASKED, Kind.CONFLICT_ESCALATED, Kind.MESSAGE_SENT,
    Kind.GROUP_MESSAGE, Kind.LEDGER_RESTARTED,
})  # fmt: skip
#: Entries after which other processes may belong to sessions.
_PROCESSES = frozenset({
    Kind.AGENT_GUARDED, Kind.AGENT_JOINED, Kind.SUB_AGENT_SPAWNED, Kind.AGENT_EXITED, Kind.AGENT_TERMINATED,
    Kind.LEDGER_RESTARTED,
})  # fmt: skip


class ProjectJobs:
    """Registers the jobs of every project that the server opens."""

    def __init__(self, scheduler: Scheduler, feeds: Feeds, projects: Projects) -> None:
        self._scheduler, self._feeds = scheduler, feeds
        self._works: list[ProjectWork] = []
        projects.on_open(self._open)

    def start(self) -> None:
        """Do nothing: the jobs of a project start when it is opened."""

    def stop(self) -> None:
        """Leave the jobs that one of several servers runs to another one."""
        for work in self._works:
            work.stop()

    def watches_any(self) -> bool:
        """Return whether a session runs on this machine, whose claims need heartbeats."""
        return any(work.watch.is_needed for work in self._works)

    def _open(self, served: ServedProject) -> None:
        work = ProjectWork(served, self._scheduler)
        self._works.append(work)
        for name, run in work.runs().items():
            self._scheduler.register(Job(work.id_of(name), EVERY[name], run))
        self._feeds.of(served).subscribe(work.heard)


class ProjectWork:
    """What the jobs of one project do."""

    def __init__(self, served: ServedProject, scheduler: Scheduler) -> None:
        self._served, self._scheduler = served, scheduler
        #: The processes of this project's sessions.
        self.watch = SessionWatch()
        self._board = upkeep.BoardCycle()

    def id_of(self, name: str) -> str:
        """Return the id of one of this project's jobs."""
        return f"{self._served.id}/{name}"

    def runs(self) -> dict[str, Callable[[], float | None]]:
        """Return what each job does, by its name."""
        return {
            CLEANUP: self._in_project(_clean_up),
            SESSIONS: self._in_project(self._check_sessions),
            HEARTBEATS: self._in_project(_keep),
            upkeep.PRUNING: self._in_project(upkeep.prune),
            upkeep.BOARD: self._in_project(self._board.run),
            upkeep.FORECAST: self._in_project(upkeep.ForecastWatch().run),
            upkeep.COPIES: self._in_project(upkeep.expire_salvage),
        }

    def stop(self) -> None:
        """Leave what only one server does to another one."""
        with suppress(DibsError):
            self._board.stop(self._served.project())

    def heard(self, batch: Batch) -> None:
        """Wake jobs that have something to do after these entries."""
        look, beat = math.inf, math.inf
        for entry in batch.entries:
            if entry.kind == Kind.LOCK_ACQUIRED:
                ttl = entry.details.get("ttl")
                span = ttl if isinstance(ttl, int | float) else 0.0
                look, beat = min(look, span), min(beat, span * _SHARE)
            elif entry.kind in _DEADLINES:
                look, beat = min(look, _SOON), min(beat, 1.0)
            if entry.kind in _PROCESSES:
                self.watch.changed()
        if batch.restarted:
            self.watch.changed()
            look = beat = _SOON
        if look < math.inf:
            self._scheduler.soon(self.id_of(CLEANUP), look)
        if beat < math.inf:
            self._scheduler.soon(self.id_of(HEARTBEATS), beat)

    def _in_project(self, act: Callable[[Project], float | None]) -> Callable[[], float | None]:
        def run() -> float | None:
            try:
                return act(self._served.project())
            except DibsError as error:
                self._served.failed(error)
                raise

        return run

    def _check_sessions(self, project: Project) -> None:
        if self.watch.look(project):
            self._scheduler.soon(self.id_of(CLEANUP))


def _clean_up(project: Project) -> float:
    """Remove what has expired; run again at the next deadline."""
    _, next_in = expire_due(project.store)
    return max(_SHORTEST, next_in + _AFTER)


def _keep(project: Project) -> float:
    """Send heartbeats for sessions whose process runs; run again when the next one is due."""
    return max(_SHORTEST, Liveness(project.store).keep())
