"""The supervisors of the projects that the server serves; agents go on when the server stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.ledger import Kind
from dibs.crew.supervisor import IDLE_EVERY, Supervisor
from dibs.server.scheduler import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.events.feed import Batch, Feeds
    from dibs.server.projects import Projects, ServedProject
    from dibs.server.scheduler import Scheduler

NAME = "crew"
#: Entries after which a task may be ready, an agent free, or a request made.
_NEWS = frozenset({
    Kind.CREW_CHANGED, Kind.TASK_ADDED, Kind.TASK_COMPLETED, Kind.TASK_RETURNED, Kind.TASK_FAILED,
    Kind.TASK_REOPENED, Kind.TASK_EDITED, Kind.TASK_REASSIGNED, Kind.TASK_CANCELLED, Kind.HANDOFF_CREATED,
    Kind.AGENT_EXITED, Kind.AGENT_CRASHED, Kind.AGENT_TERMINATED, Kind.AGENT_JOINED, Kind.STATUS_CHANGE,
    Kind.LOCK_RELEASED, Kind.LOCK_EXPIRED, Kind.MERGED,
})  # fmt: skip


class CrewJobs:
    """Runs a supervisor for every project that the server opens; a part of the server."""

    def __init__(self, scheduler: Scheduler, feeds: Feeds, projects: Projects) -> None:
        self._scheduler, self._feeds, self._projects = scheduler, feeds, projects
        self._leave: list[Callable[[], None]] = []
        self._works: list[CrewWork] = []

    def start(self) -> None:
        """Look after the crew of every project, also of those that open later."""
        self._projects.on_open(self._open)

    def stop(self) -> None:
        """Listen to events no longer; runners and agents go on."""
        for leave in self._leave:
            leave()

    def has_crew(self) -> bool:
        """Return whether a crew is up or has agents, so that the server is needed."""
        return any(work.pause < IDLE_EVERY for work in self._works)

    def _open(self, served: ServedProject) -> None:
        work = CrewWork(served)
        self._works.append(work)
        id_ = f"{served.id}/{NAME}"
        self._scheduler.register(Job(id_, IDLE_EVERY, work.run))

        def heard(batch: Batch) -> None:
            if any(entry.kind in _NEWS for entry in batch.entries):
                self._scheduler.soon(id_)

        self._leave.append(self._feeds.of(served).subscribe(heard))


class CrewWork:
    """The supervisor of one project, as a job."""

    def __init__(self, served: ServedProject) -> None:
        self._served = served
        self._supervisor = Supervisor(served.root)
        #: Seconds until the next look.
        self.pause = IDLE_EVERY

    def run(self) -> float:
        """Look after the crew once; return the seconds until the next look."""
        self.pause = self._supervisor.tick(self._served.project())
        return self.pause
