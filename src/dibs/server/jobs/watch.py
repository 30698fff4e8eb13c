"""Notices within a second that the process of a session has ended, on any engine.

The list of processes is kept in memory: a look every second costs one read of ``/proc`` for each, and nothing
from the store. The list is read again when sessions come and go.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.local.processes import is_there
from dibs.local.repository import SESSIONS
from dibs.services.guard.liveness import Liveness

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.project.project import Project
    from dibs.services.guard.liveness import WatchedProcess

#: The list of processes is read again after this many seconds, in case no event said that it changed.
READ_EVERY = 60.0
#: How long to wait after sessions could not be ended, in seconds.
PAUSE = 5.0
#: How many sessions one transaction ends: few enough that the first ones do not wait for the last ones.
AT_ONCE = 24


class SessionWatch:
    """Ends the sessions of one project whose process has ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: list[WatchedProcess] = []
        self._folder: int | None = None
        self._read_at = self._rest_until = -READ_EVERY
        self._changed = True

    @property
    def is_needed(self) -> bool:
        """Whether there is a process to watch."""
        return bool(self._watched)

    def changed(self) -> None:
        """Read the list of sessions again at the next look."""
        self._changed = True

    def look(self, project: Project) -> list[str]:
        """End the sessions whose process has ended; return their agents."""
        now = self._clock()
        if now < self._rest_until:
            return []
        try:
            return self._look(project, now)
        except DibsError:
            self._rest_until = now + PAUSE
            self._changed = True
            raise

    def _look(self, project: Project, now: float) -> list[str]:
        folder = _stamp(os.path.join(project.place.repository.state, SESSIONS))
        if self._changed or folder != self._folder or now >= self._read_at + READ_EVERY:
            self._changed, self._folder, self._read_at = False, folder, now
            self._watched = Liveness(project.store).processes()
        dead = {one.agent for one in self._watched if not is_there(one.pid, one.born)}
        if not dead:
            return []
        self._changed = True
        return project.departures.gone(dead, at_once=AT_ONCE)


def _stamp(folder: str) -> int | None:
    """Return when the folder last changed; it has a file for each process of a session."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None
