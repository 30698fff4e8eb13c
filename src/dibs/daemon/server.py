"""The daemon: one for each user and each Dibs installation, behind one socket.

Its lock shows that it runs; the socket does not, because a killed process leaves it behind. It exits when it
has been idle for a while, and when a module of Dibs has changed on disk.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress

from dibs.daemon.place import ProcessLock, private_folder
from dibs.daemon.serving import EngineCache
from dibs.guard.agents.start import socket_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

#: Seconds without a request after which it exits.
IDLE = 600.0
#: Seconds between checks for changed modules.
LOOK_EVERY = 1.0
#: Seconds that running requests get at exit.
LEAVE_IN = 3.0
#: The most requests at once; other hooks answer on their own.
AT_ONCE = 64


class HookServer:
    """Listen, and answer each request in its own thread."""

    def __init__(self, package: str, *, idle: float = IDLE) -> None:
        self._path = socket_of(package)
        self._idle = idle
        self._store = EngineCache(package)
        self._stamp = modules_stamp()
        self._over = threading.Event()
        self._busy = threading.BoundedSemaphore(AT_ONCE)

    def run(self) -> bool:
        """Serve until idle or stopped; return False if another daemon is running."""
        private_folder(os.path.dirname(self._path))
        lock = ProcessLock(f"{self._path}.lock")
        if not lock.take():
            return False
        try:
            listener = self._listen()
            try:
                self._serve(listener)
            finally:
                self._leave(listener)
        finally:
            lock.release()
        return True

    def end(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Ask it to exit soon."""
        self._over.set()

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        draft = f"{self._path}.{os.getpid()}"
        try:
            listener.bind(draft)
            os.chmod(draft, 0o600)
            listener.listen(AT_ONCE)
            os.replace(draft, self._path)  # it appears only once it is listening
        except OSError:
            listener.close()
            raise
        listener.settimeout(LOOK_EVERY)
        return listener

    def _serve(self, listener: socket.socket) -> None:
        last = looked = time.monotonic()
        while not self._over.is_set():
            try:
                link, _ = listener.accept()
            except TimeoutError:
                link = None
            now = time.monotonic()
            if now - looked >= LOOK_EVERY:
                looked = now
                if modules_stamp(self._stamp) != self._stamp:
                    self._over.set()  # the hook that asks now answers on its own
            if link is not None:
                last = now
                self._answer(link)
            elif now - last > self._idle:
                return

    def _answer(self, link: socket.socket) -> None:
        if self._over.is_set() or not self._busy.acquire(blocking=False):
            link.close()
            return

        def answer() -> None:
            try:
                self._store.answer(link)
            finally:
                link.close()
                self._busy.release()

        threading.Thread(target=answer, daemon=True).start()

    def _leave(self, listener: socket.socket) -> None:
        """Remove the socket, finish running requests, and close the engines."""
        with suppress(OSError):
            os.unlink(self._path)
        listener.close()
        until = time.monotonic() + LEAVE_IN
        for _ in range(AT_ONCE):
            self._busy.acquire(timeout=max(0.0, until - time.monotonic()))
        self._store.close()


def modules_stamp(like: dict[str, tuple[int, int]] | None = None) -> dict[str, tuple[int, int]]:
    """Return the modification time and size of each source file: of all, or of the given ones."""
    files = like if like is not None else _files()
    stamp = {}
    for path in files:
        try:
            found = os.stat(path)
        except OSError:
            continue
        stamp[path] = (found.st_mtime_ns, found.st_size)
    return stamp


def _files() -> list[str]:
    """Return all source files of the package: a module loaded later must match those already loaded."""
    import dibs

    package = os.path.dirname(str(dibs.__file__))
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(package)
        for name in names
        if name.endswith(".py")
    ]


def main(package: str) -> int:
    """Run the daemon; exit at once if one is running."""
    os.umask(0o077)
    os.chdir("/")
    server = HookServer(package)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, server.end)
    try:
        return 0 if server.run() else 1
    except OSError as error:
        sys.stderr.write(f"dibs daemon: {error.strerror}\n")
        return 74
