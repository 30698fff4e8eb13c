"""Checks the alerts of every project: each minute, and shortly after events that may change one.

A check may run in several servers at once: its transaction opens each alert once. An engine that does not
answer cannot store an alert; so a check that succeeds again also reports for how long it did not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.core.alerts.event_rules import unreachable
from dibs.core.claims.ledger import Kind
from dibs.errors import DibsError, Unavailable, Unknown
from dibs.server.scheduler import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Project
    from dibs.server.events.feed import Batch, Feeds
    from dibs.server.projects import Projects, ServedProject
    from dibs.server.scheduler import Scheduler

NAME, EVERY = "alerts", 60.0
#: The least time between two checks, and between two inspections of the store itself, in seconds.
SHORTEST, INSPECT = 2.0, 600.0
#: At most one part in so many of the time is spent on checks.
REST = 20
#: An engine that did not answer for this many seconds is worth an alert.
OUTAGE = 10.0
#: Entries after which an alert may open or end before the next minute.
_URGENT = frozenset({
    Kind.LOCK_DENIED, Kind.LOCK_QUEUED, Kind.LOCK_UNQUEUED, Kind.LOCK_RELEASED, Kind.LOCK_EXPIRED,
    Kind.COMMIT_REFUSED, Kind.COMMITTED, Kind.FILE_EDIT, Kind.FOREIGN_WRITE, Kind.CONFLICT_FORECAST,
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
        self._inspected = -INSPECT
        #: When the next check may begin: a large project is checked less often.
        self._due = 0.0
        #: Since when the engine does not answer.
        self._down: float | None = None

    def run(self) -> float | None:
        """Check, unless the last check is too recent; then return when to try again."""
        now = self._clock()
        if now < self._due:
            return self._due - now
        self._due = now + SHORTEST
        try:
            project = self._served.project()
            run(project, inspect=now >= self._inspected + INSPECT, down_for=self._down_for(now))
        except DibsError as error:
            if isinstance(error, Unavailable | Unknown):
                self._down = now if self._down is None else self._down
            self._served.failed(error)
            raise
        if now >= self._inspected + INSPECT:
            self._inspected = now
        self._down = None
        self._due = max(self._due, now + REST * (self._clock() - now))
        return None

    def _down_for(self, now: float) -> float:
        return 0.0 if self._down is None else now - self._down


def run(project: Project, *, inspect: bool = True, down_for: float = 0.0) -> None:
    """Check the alerts of a project; ``down_for`` is how long its engine did not answer until now."""
    events = [unreachable(project.store.now(), down_for)] if down_for >= OUTAGE else []
    project.alerts.check(inspect=inspect, events=events)
