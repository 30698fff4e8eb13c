"""A project whose waits end when an event is set, for calls whose client may disconnect.

The services block on the engine while they wait. Here the engine is wrapped, so that it often checks the
event; the services then remove the waiter as usual.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.project.project import Project

if TYPE_CHECKING:
    import threading
    from typing import Any

    from dibs.engines.base import Engine

#: The longest time, in seconds, until a canceled wait ends.
SLICE = 0.2


class WaitStopped(Exception):
    """The wait was canceled."""


class StoppableEngine:
    """An engine whose wait ends when ``stop`` is set."""

    def __init__(self, engine: Engine, stop: threading.Event) -> None:
        self._engine = engine
        self._stop = stop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def wait(self, after: int, timeout: float) -> int:
        """Wait as the engine does, in short slices."""
        end = time.monotonic() + timeout
        while True:
            if self._stop.is_set():
                raise WaitStopped
            left = end - time.monotonic()
            newest = self._engine.wait(after, max(0.0, min(SLICE, left)))
            if newest > after or left <= SLICE:
                return newest


def stopping_with(project: Project, stop: threading.Event) -> Project:
    """Return the same project with an engine that stops waiting when ``stop`` is set."""
    engine: Any = StoppableEngine(project.engine, stop)
    return Project(project.place, engine, lent=True)
