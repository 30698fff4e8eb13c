"""What the process does about itself once a second: notice new code, and exit when nothing needs it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.local.processes import is_there
from dibs.services.guard.liveness import Liveness

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.hooks.listener import HookListener
    from dibs.server.process.upgrade import Renewal
    from dibs.server.process.web import WebServer
    from dibs.server.resident import Resident

#: Seconds between two looks at the code on disk.
LOOK_EVERY = 1.0
#: Seconds without any call after which a server that a hook started may exit.
IDLE = 600.0


class Upkeep:
    """A thread that looks after the process."""

    def __init__(
        self,
        resident: Resident,
        web: WebServer,
        hooks: HookListener,
        renewal: Renewal,
        leave: Callable[[], None],
    ) -> None:
        self._resident = resident
        self._web = web
        self._hooks = hooks
        self._renewal = renewal
        self._leave = leave
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dibs-upkeep")
        self._calls, self._last_call = 0, time.monotonic()

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            self._hooks.declines = self._renewal.look()
            if self._resident.options.auto and self.is_unneeded(time.monotonic()):
                self._leave()
                return

    def is_unneeded(self, now: float) -> bool:
        """Return whether nothing has called for a while, and nothing waits for the process."""
        calls = self._web.server_state.total_requests
        if calls != self._calls or self._web.server_state.connections:
            self._calls, self._last_call = calls, now
        if now - max(self._last_call, self._hooks.last) < IDLE:
            return False
        try:
            return not (self._has_session() or any(need() for need in self._resident.needs))
        except (DibsError, OSError):
            return False

    def _has_session(self) -> bool:
        """Return whether an agent's session runs on this machine."""
        return any(
            is_there(process.pid, process.born)
            for served in self._resident.projects.all()
            for process in Liveness(served.project().store).processes()
        )
