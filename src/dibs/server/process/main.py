"""Run one server: take the lock, listen, serve until a signal arrives, and finish running calls."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import dibs
from dibs.errors import DibsError, Unavailable
from dibs.guard.agents.start import socket_of
from dibs.local.files import write_file
from dibs.local.server_files import INFO, ServerInfo, running_server, server_lock
from dibs.local.signals import ENDING, not_ignored
from dibs.server.app import build
from dibs.server.hooks.answers import own_package
from dibs.server.hooks.listener import HookListener
from dibs.server.process import handover, listeners
from dibs.server.process.options import check_options, options_from
from dibs.server.process.upgrade import Renewal, modules_stamp, replaces
from dibs.server.process.upkeep import Upkeep
from dibs.server.process.web import WebServer
from dibs.server.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.process.listeners import Listeners

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

    def __init__(self, given: dict[str, Any], ready: Callable[[ServerInfo], None]) -> None:
        self._given = given
        self._options = check_options(options_from(given))
        self._ready = ready
        self._package = own_package()
        #: Taken before anything shows that the server runs, so that a later change is noticed.
        self._stamp = modules_stamp(self._package)
        self._hooks = socket_of(self._package)
        self._lock = server_lock(self._options.folder)
        self._before: handover.Handover | None = None
        #: The process that has taken over.
        self._after = 0
        self._web: WebServer | None = None

    def run(self) -> ServerInfo | None:
        """Serve until a signal arrives; return another server that is already running."""
        for name in _NOT_OURS:
            os.environ.pop(name, None)
        os.makedirs(self._options.folder, mode=0o700, exist_ok=True)
        found = self._begin()
        if isinstance(found, ServerInfo):
            return found
        renewal = Renewal(self._package, self._options, self._stamp)
        try:
            self._serve(found, renewal)
        finally:
            found.close()
            if not self._after:
                listeners.unlink(self._options.folder, self._hooks)
                with suppress(OSError):
                    os.unlink(os.path.join(self._options.folder, INFO))
            self._lock.release()
        child = renewal.successor
        if self._options.attached and child is not None and child.pid == self._after:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the waiter handles them
            waiter = os.path.join(os.path.dirname(__file__), "waiter.py")
            os.execv(sys.executable, [sys.executable, "-I", "-S", waiter, str(child.pid)])  # noqa: S606
        return None

    def stop(self, *_: object) -> None:
        """Ask it to finish its calls and exit."""
        if self._web is not None:
            self._web.should_exit = True

    def _begin(self) -> Listeners | ServerInfo:
        """Take the lock and listen, or take over; return the server that is running otherwise."""
        until = time.monotonic() + PATIENCE
        while not self._lock.take():
            other = running_server(self._options.folder)
            if other is not None:
                if not replaces(other, dibs.__version__, self._package, self._stamp):
                    return other
                with suppress(OSError, ValueError):
                    return self._take_over(handover.request_handover(other.control, self._hooks))
            if time.monotonic() > until:
                raise Unavailable(
                    "another server is starting or does not respond",
                    code="SERVER_BUSY",
                    hint="try again, or run: dibs serve stop",
                )
            time.sleep(0.02)
        return listeners.listen(self._options, self._hooks)

    def _take_over(self, before: handover.Handover) -> Listeners:
        """Use the sockets and the lock of an older process; open those that must differ."""
        past = options_from(before.options)
        both = {**before.options, **self._given}
        both["auto"] = past.auto and self._options.auto
        self._options = check_options(options_from(both))
        self._before = before
        self._lock.handle = before.lock
        found = before.listeners
        if (past.host, past.port) != (self._options.host, self._options.port):
            found.tcp.close()
            found = found._replace(tcp=listeners.tcp(self._options))
        return found

    def _serve(self, found: Listeners, renewal: Renewal) -> None:
        options = self._options
        resident = Resident(options.folder, options=options)
        resident.url = listeners.url_of(found.tcp, tls=options.tls)
        web = self._web = WebServer(build(resident), options)
        hooks = HookListener(resident, found.hooks)
        control = handover.Control(found, self._lock.handle, options, self._hooks, self._leave)

        def ready() -> None:
            hooks.start()
            self._announce(resident.url, renewal.stamp)
            control.start()
            upkeep.start()

        upkeep = Upkeep(resident, web, hooks, renewal, self.stop)
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
            log.info("a newer process took over" if self._after else "stopped")

    def _leave(self, process: int) -> None:
        """Finish running calls and exit: a newer process accepts connections."""
        self._after = process
        if self._web is not None:
            self._web.hand_over()
        self.stop()

    def _add_project(self, resident: Resident) -> None:
        if self._options.repo:
            try:
                resident.projects.add(self._options.repo)
            except DibsError as error:
                log.info("no project here: %s", error.message)

    def _announce(self, url: str, stamp: str) -> None:
        """Tell everyone that this process is the server."""
        folder = self._options.folder
        info = ServerInfo(
            pid=os.getpid(),
            url=url,
            socket=listeners.socket_path(folder, listeners.HTTP),
            control=listeners.socket_path(folder, listeners.CONTROL),
            version=dibs.__version__,
            package=self._package,
            stamp=stamp,
            started=time.time(),
            auto=self._options.auto,
        )
        self._lock.sign()
        if self._before is not None:
            listeners.publish(self._hooks)
        write_file(os.path.join(folder, INFO), json.dumps(info._asdict()).encode())
        if self._before is not None:
            if self._before.hooks != self._hooks:
                with suppress(OSError):
                    os.unlink(self._before.hooks)
            self._before.accept()
        self._ready(info)
