"""The engine of a project without state: reads find nothing, and the first change creates the store.

Loaded only if the store does not exist, so that commands that read leave nothing behind.
"""

from __future__ import annotations

import time

from dibs.core.text.findings import Finding, Level
from dibs.engines.memory import MemoryEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dibs.engines.base import Engine, Txn

    T = TypeVar("T")

#: How often a wait checks whether another process has created the store.
_PAUSE = 0.1


class FirstUseEngine:
    """Reads as an empty store until this or another process creates the real one."""

    as_of: float | None = None
    shortest_ttl = 0.0

    def __init__(self, there: Callable[[], bool], create: Callable[[], Engine]) -> None:
        self._there = there
        self._create = create
        self._engine: Engine | None = None
        self._nothing = MemoryEngine()

    def _real(self) -> Engine:
        if self._engine is None:
            self._engine = self._create()
        return self._engine

    @property
    def exists(self) -> bool:
        """Whether the real store exists."""
        return self._engine is not None or self._there()

    def _current(self) -> Engine:
        return self._real() if self.exists else self._nothing

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` to the real store."""
        return self._real().transact(step)

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on the real store if it exists, else on an empty one."""
        return self._current().view(step)

    def wait(self, after: int, timeout: float) -> int:
        """Wait for an entry in the real store, which another process may create."""
        give_up = time.monotonic() + timeout
        while self._current() is self._nothing:
            left = give_up - time.monotonic()
            if left <= 0:
                return 0
            time.sleep(min(_PAUSE, left))
        return self._real().wait(after, max(0.0, give_up - time.monotonic()))

    def close(self) -> None:
        """Close the real store if it is open."""
        if self._engine is not None:
            self._engine.close()

    def inspect(self) -> list[Finding]:
        """Report on the real store."""
        if self.exists:
            return self._real().inspect()
        return [Finding(Level.OK, "store", "none yet: the first change creates it")]
