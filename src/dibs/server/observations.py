"""Collects what agents edit and read, and writes many of these observations in one transaction.

An observation changes no state, so nobody waits for it. A crash loses at most one batch. Reads
through the server include all observations, because they are written first.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from dibs.errors import DibsError, Unavailable
from dibs.server.projects import project_id
from dibs.services.guard.file_log import put_observation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.server.projects import Projects
    from dibs.services.guard.file_log import Observation
    from dibs.services.state.rows import Rows

log = logging.getLogger("dibs.server")

#: After how many seconds, and with how many observations, they are written.
EVERY, MOST = 0.25, 64
#: How many observations are kept while the store does not answer; the oldest are dropped.
KEPT = 4_096


class Observations:
    """The observations of all projects that are not written yet; a part of the server."""

    def __init__(self, projects: Projects, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._projects = projects
        self._clock = clock
        self._changed = threading.Condition()
        #: By project: the observations, and when the oldest is due.
        self._waiting: dict[str, list[Observation]] = {}
        self._due: dict[str, float] = {}
        #: Held while a batch is written, so that a reader does not overtake it.
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False

    def add(self, state: str, seen: Observation) -> None:
        """Collect an observation of the project whose state is in a folder; returns at once."""
        id_ = project_id(state)
        with self._changed:
            batch = self._waiting.setdefault(id_, [])
            batch.append(seen)
            if len(batch) == 1:
                self._due[id_] = self._clock() + EVERY
            if len(batch) in {1, MOST}:
                self._changed.notify_all()
            if len(batch) > KEPT:
                del batch[: len(batch) - KEPT]
            late = self._stopping
        if late:
            self.flush(id_)

    def flush(self, id_: str = "") -> None:
        """Write what was collected before this call, of one project or of all."""
        with self._changed:
            found = [id_] if id_ else list(self._waiting)
            if not any(self._waiting.get(one) for one in found) and not self._writing.locked():
                return
        with self._writing:
            for one in found:
                self._write(one)

    def start(self) -> None:
        """Begin to write what is due."""
        self._thread = threading.Thread(target=self._run, name="observations", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write everything, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)
        self.flush()

    def tick(self) -> float:
        """Write what is due; return the seconds until the next look."""
        with self._changed:
            now = self._clock()
            due = [
                id_
                for id_, batch in self._waiting.items()
                if len(batch) >= MOST or self._due[id_] <= now
            ]
        for id_ in due:
            self.flush(id_)
        with self._changed:
            now = self._clock()
            return max(0.0, min((self._due[one] - now for one in self._waiting), default=60.0))

    def _run(self) -> None:
        while True:
            pause = self.tick()
            with self._changed:
                if self._stopping:
                    return
                if pause > 0 and not any(len(one) >= MOST for one in self._waiting.values()):
                    self._changed.wait(pause)

    def _write(self, id_: str) -> None:
        with self._changed:
            batch = self._waiting.pop(id_, [])
            self._due.pop(id_, None)
        while batch:
            some, batch = batch[:MOST], batch[MOST:]
            try:
                self._put(id_, some)
            except Unavailable as error:  # nothing was written: try again later
                log.warning("cannot write observations: %s", error.message)
                self._keep(id_, [*some, *batch])
                return
            except (DibsError, OSError, RuntimeError) as error:
                log.warning("lost %d observations: %s", len(some), error)

    def _put(self, id_: str, some: Sequence[Observation]) -> None:
        def step(rows: Rows) -> None:
            for seen in some:
                put_observation(rows, seen)

        self._projects.get(id_).project().store.apply(step)

    def _keep(self, id_: str, batch: list[Observation]) -> None:
        """Put back what could not be written, in front of what came later."""
        with self._changed:
            self._waiting[id_] = [*batch, *self._waiting.get(id_, ())][-KEPT:]
            self._due[id_] = self._clock() + 4 * EVERY
