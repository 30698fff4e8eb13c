"""Engines that stay open, one for each project, for every part of the server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.project.engines import open_engine
from dibs.project.local_store import store_identity

if TYPE_CHECKING:
    from dibs.engines.base import Engine
    from dibs.project.location import Location


class EngineCache:
    """Lends open engines to projects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: dict[tuple[object, ...], Engine] = {}

    def engine(self, place: Location) -> Engine:
        """Return the open engine of a project; open it again if its settings or its store changed."""
        key = (place.repository.state, store_identity(place), *place.loaded.config)
        with self._lock:
            engine = self._engines.get(key)
            if engine is None:
                for other in [one for one in self._engines if one[0] == key[0]]:
                    del self._engines[other]  # its last user closes it
                engine = self._engines[key] = open_engine(place, recreate=False)
        return engine

    def observer(self, _: Location) -> None:
        """Return nothing: only hooks observe what agents edit and read."""
        return

    def close(self) -> None:
        """Close all engines."""
        with self._lock:
            for engine in self._engines.values():
                try:
                    engine.close()
                except DibsError:
                    continue
            self._engines.clear()
