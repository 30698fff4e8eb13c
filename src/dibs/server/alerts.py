"""Checks the alerts of every project: each minute, and shortly after events that may change one.

A check may run in several servers at once: its transaction opens each alert once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.core.claims.ledger import Kind
from dibs.errors import DibsError
from dibs.server.scheduler import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.events.feed import Batch, Feeds
    from dibs.server.projects import Projects, ServedProject
    from dibs.server.scheduler import Scheduler

NAME, EVERY = "alerts", 60.0
#: The least time between two checks, in seconds.
SHORTEST = 2.0
#: At most one part in so many of the time is spent on checks.
REST = 20
#: Entries after which an alert may open or end before the next minute.
_URGENT = frozenset({
    Kind.LOCK_RELEASED, Kind.LOCK_EXPIRED, Kind.COMMITTED, Kind.FILE_EDIT, Kind.FOREIGN_WRITE,
    Kind.CONFLICT_FORECAST,
    Kind.PROGRESS_UPDATE, Kind.STATUS_CHANGE, Kind.DECISION_MADE, Kind.AGENT_EXITED, Kind.AGENT_TERMINATED,
    Kind.AGENT_GUARDED, Kind.TASK_ADDED, Kind.TASK_COMPLETED, Kind.TASK_RETURNED, Kind.TASK_STARTED,
})  # fmt: skip


class AlertJobs:
    """Registers the check of every project that the server opens; a part of the server."""

    def __init__(self, scheduler: Scheduler, feeds: Feeds, projects: Projects) -> None:
        self._scheduler, self._feeds, self._projects = scheduler, feeds, projects
        self._leave: list[Callable[[], None]] = []

    def start(self) -> None:
        """Check every project, also those that open later."""
        self._projects.on_open(self._open)

    def stop(self) -> None:
        """Listen to events no longer; the scheduler ends the checks."""
        for leave in self._leave:
            leave()

    def _open(self, served: ServedProject) -> None:
        job = AlertJob(served)
        id_ = f"{served.id}/{NAME}"
        self._scheduler.register(Job(id_, EVERY, job.run, first=SHORTEST))

        def heard(batch: Batch) -> None:
            if any(entry.kind in _URGENT for entry in batch.entries):
                self._scheduler.soon(id_)

        self._leave.append(self._feeds.of(served).subscribe(heard))


class AlertJob:
    """Checks one project."""

    def __init__(self, served: ServedProject, clock: Callable[[], float] = time.monotonic) -> None:
        self._served, self._clock = served, clock
        #: When the next check may begin: a large project is checked less often.
        self._due = 0.0

    def run(self) -> float | None:
        """Check, unless the last check is too recent; then return when to try again."""
        now = self._clock()
        if now < self._due:
            return self._due - now
        self._due = now + SHORTEST
        try:
            self._served.project().alerts.check()
        except DibsError as error:
            self._served.failed(error)
            raise
        self._due = max(self._due, now + REST * (self._clock() - now))
        return None
