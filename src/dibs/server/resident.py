"""Everything that one resident process has; its parts start and stop together."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from dibs.errors import DibsError
from dibs.server.alerts import AlertJobs
from dibs.server.crew import CrewJobs
from dibs.server.engines import EngineCache
from dibs.server.events.feed import Feeds
from dibs.server.hooks.answers import HookAnswers
from dibs.server.jobs.project import ProjectJobs
from dibs.server.metrics import Metrics
from dibs.server.observations import Observations
from dibs.server.pipeline.part import Pipeline
from dibs.server.process.options import ServeOptions
from dibs.server.projects import Projects
from dibs.server.scheduler import Scheduler
from dibs.server.security.login import Logins
from dibs.server.security.tokens import TokenStore
from dibs.services.state.serving.faults import record_error

if TYPE_CHECKING:
    from collections.abc import Callable


class Part(Protocol):
    """A part of the server with threads of its own."""

    def start(self) -> None:
        """Begin to work."""

    def stop(self) -> None:
        """Finish what is running, and return when nothing of it runs anymore."""


class Resident:
    """The state of the process, for all surfaces."""

    def __init__(
        self,
        folder: str,
        *,
        clock: Callable[[], float] = time.time,
        options: ServeOptions | None = None,
    ) -> None:
        #: Where tokens, the list of projects, and the log are; only this user can read it.
        self.folder = folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.clock = clock
        self.options = options or ServeOptions(folder)
        #: The URL over TCP, with the actual port; set before anything starts.
        self.url = f"http://{self.options.host}:{self.options.port}"
        self.engines = EngineCache()
        self.projects = Projects(folder, self.engines)
        self.metrics = Metrics(self.projects)
        #: What happens in each project, for streams, alerts, and jobs.
        self.feeds = Feeds()
        self.scheduler = Scheduler(wall=clock)
        self.scheduler.on_failure = self._job_failed
        self.tokens = TokenStore(folder, clock)
        self.logins = Logins(clock)
        self.hooks = HookAnswers(self)
        #: Each returns whether something needs the process, which then does not exit when it is idle.
        self.needs: list[Callable[[], bool]] = []
        #: What happens on time in each project.
        self.jobs = ProjectJobs(self.scheduler, self.feeds, self.projects)
        self.needs.append(self.jobs.watches_any)
        #: What agents edit and read; written last, when nothing observes anymore.
        self.observations = Observations(self.projects)
        self.alerts = AlertJobs(self.scheduler, self.feeds, self.projects)
        self.pipeline = Pipeline(self.projects, self.feeds, folder)
        self.needs.append(self.pipeline.is_busy)
        self.crew = CrewJobs(self.scheduler, self.feeds, self.projects)
        self.needs.append(self.crew.has_crew)
        self.parts: list[Part] = [
            self.observations,
            self.tokens,
            self.feeds,
            self.jobs,
            self.scheduler,
            self.alerts,
            self.pipeline,
            self.crew,
        ]

    def _job_failed(self, id_: str, error: str) -> None:
        """Record the failure of a project's job in its ledger."""
        project, _, name = id_.partition("/")
        for served in self.projects.all():
            if served.id == project and name:
                with suppress(DibsError, OSError):
                    store, text = served.project().store, f"the job {name} failed: {error}"
                    record_error(store, f"job:{name}", text, job=name)

    def start(self) -> None:
        """Open the projects of the last run, and start all parts."""
        for part in self.parts:
            part.start()
        self.projects.restore()

    def stop(self) -> None:
        """Stop all parts, then close the projects."""
        for part in reversed(self.parts):
            part.stop()
        self.hooks.close()
        self.projects.close()
        self.engines.close()
