"""What the process does about itself once a second: notice new code, and exit when nothing needs it."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.local.processes import is_there
from dibs.services.guard.liveness import Liveness

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.hooks.listener import HookListener
    from dibs.server.process.web import WebServer
    from dibs.server.resident import Resident

#: Seconds between two looks at the code on disk.
LOOK_EVERY = 1.0
#: Seconds without any call after which a server that a hook started may exit.
IDLE = 600.0
log = logging.getLogger("dibs.server")


def modules_stamp(package: str) -> frozenset[tuple[str, int, int]]:
    """Return the path, modification time, and size of each source file of the package."""
    found = set()
    for folder, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    stat = os.stat(path)
                except OSError:
                    continue
                found.add((path, stat.st_mtime_ns, stat.st_size))
    return frozenset(found)


class CodeWatch:
    """Looks whether the code on disk differs from the code that runs."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._runs = self._seen = modules_stamp(package)
        #: Whether the code changed and no longer changes, so that a new process can load it.
        self.is_complete = False

    def look(self) -> bool:
        """Return whether the code on disk has changed."""
        now = modules_stamp(self._package)
        self.is_complete = now == self._seen != self._runs
        self._seen = now
        return now != self._runs


class Upkeep:
    """A thread that looks after the process."""

    def __init__(
        self,
        resident: Resident,
        web: WebServer,
        hooks: HookListener,
        code: CodeWatch,
        leave: Callable[[], None],
    ) -> None:
        self._resident = resident
        self._web = web
        self._hooks = hooks
        self._code = code
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
            self._hooks.declines = self._code.look()
            if self._code.is_complete:
                log.info("the code has changed")
            auto = self._resident.options.auto
            if self._code.is_complete or (auto and self.is_unneeded(time.monotonic())):
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
