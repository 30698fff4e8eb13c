"""Run one server: take the lock, listen, serve until a signal arrives, and finish running calls."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import dibs
from dibs.errors import DibsError, Unavailable
from dibs.guard.agents.start import socket_of
from dibs.local.files import write_file
from dibs.local.server_files import INFO, ServerInfo, running_server, server_lock
from dibs.local.signals import ENDING, not_ignored
from dibs.server.app import build
from dibs.server.hooks.listener import HookListener
from dibs.server.process import listeners
from dibs.server.process.options import check_options, own_package
from dibs.server.process.upkeep import CodeWatch, Upkeep
from dibs.server.process.web import WebServer
from dibs.server.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.process.listeners import Listeners
    from dibs.server.process.options import ServeOptions

#: Seconds that another server may take to start.
PATIENCE = 10.0
#: Variables that name one agent or one repository; a server is for all of them.
_NOT_OURS = (
    "DIBS_AGENT",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
)
log = logging.getLogger("dibs.server")


class ServerProcess:
    """One server, from its lock to its end."""

    def __init__(self, options: ServeOptions, ready: Callable[[ServerInfo], None]) -> None:
        self._options = check_options(options)
        self._ready = ready
        self._package = own_package()
        #: Its first look is before anything shows that the server runs, so that a later change is noticed.
        self._code = CodeWatch(self._package)
        self._hooks = socket_of(self._package)
        self._lock = server_lock(self._options.folder)
        self._web: WebServer | None = None
        #: Whether it was asked to exit.
        self._stopped = False

    def run(self) -> ServerInfo | None:
        """Serve until a signal arrives; return another server that is already running.

        If its code changed, the process starts again, in place.
        """
        for name in _NOT_OURS:
            os.environ.pop(name, None)
        os.makedirs(self._options.folder, mode=0o700, exist_ok=True)
        other = self._other()
        if other is not None:
            return other
        found = listeners.listen(self._options, self._hooks)
        # If it starts again, it listens at the same port.
        self._options = self._options._replace(port=found.tcp.getsockname()[1])
        try:
            self._serve(found)
        finally:
            found.close()
            listeners.unlink(self._options.folder, self._hooks)
            with suppress(OSError):
                os.unlink(os.path.join(self._options.folder, INFO))
            if not self._starts_again:
                self._lock.release()
        if self._starts_again:
            os.set_inheritable(self._lock.handle, True)
            argv = self._options._replace(lock=self._lock.handle).argv(self._package)
            os.execv(argv[0], argv)  # noqa: S606 - our own program
        return None

    def stop(self, *_: object) -> None:
        """Ask it to finish its calls and exit."""
        self._stopped = True
        self._leave()

    @property
    def _starts_again(self) -> bool:
        return self._code.is_complete and not self._stopped

    def _leave(self) -> None:
        if self._web is not None:
            self._web.should_exit = True

    def _other(self) -> ServerInfo | None:
        """Take the lock, or return the server that is running."""
        if self._options.lock >= 0:
            self._lock.handle = self._options.lock
            os.set_inheritable(self._lock.handle, False)
            return None
        until = time.monotonic() + PATIENCE
        while not self._lock.take():
            other = running_server(self._options.folder)
            if other is not None:
                return other
            if time.monotonic() > until:
                raise Unavailable(
                    "another server is starting or does not respond",
                    code="SERVER_BUSY",
                    hint="try again, or run: dibs serve stop",
                )
            time.sleep(0.02)
        return None

    def _serve(self, found: Listeners) -> None:
        options = self._options
        resident = Resident(options.folder, options=options)
        resident.url = listeners.url_of(found.tcp)
        web = self._web = WebServer(build(resident))
        hooks = HookListener(resident, found.hooks)
        upkeep = Upkeep(resident, web, hooks, self._code, self._leave)

        def ready() -> None:
            hooks.start()
            self._announce(resident.url)
            upkeep.start()

        web.ready = ready  # type: ignore[method-assign]
        web.leaving = hooks.stop  # type: ignore[method-assign]
        for number in not_ignored((signal.SIGINT, *ENDING)):
            signal.signal(number, self.stop)
        try:
            resident.start()
            self._add_project(resident)
            gc.freeze()  # what exists now stays
            web.run([found.tcp, found.http])
        finally:
            upkeep.stop()
            resident.stop()
            log.info("starting again" if self._starts_again else "stopped")

    def _add_project(self, resident: Resident) -> None:
        if self._options.repo:
            try:
                resident.projects.add(self._options.repo)
            except DibsError as error:
                log.info("no project here: %s", error.message)

    def _announce(self, url: str) -> None:
        """Tell everyone that this process is the server."""
        folder = self._options.folder
        info = ServerInfo(
            pid=os.getpid(),
            url=url,
            socket=listeners.socket_path(folder),
            version=dibs.__version__,
            started=time.time(),
            auto=self._options.auto,
        )
        write_file(os.path.join(folder, INFO), json.dumps(info._asdict()).encode())
        self._ready(info)
