"""Listens for hooks, and answers each in its own thread.

A hook that gets no answer in time answers on its own, so nothing here may block the thread that accepts.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.server.resident import Resident

#: The most requests at once; other hooks answer on their own.
AT_ONCE = 64
#: Seconds that running requests get at the end.
LEAVE_IN = 3.0
_PAUSE = 0.05


class HookListener:
    """Accepts hooks until it is stopped."""

    def __init__(self, resident: Resident, listener: socket.socket) -> None:
        self._listener = listener
        # The hook may be gone when its connection is accepted, so accepting must not block.
        listener.setblocking(False)
        self._answers = resident.hooks
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="dibs-hooks")
        self._busy = threading.BoundedSemaphore(AT_ONCE)
        #: Whether hooks must answer on their own: the code on disk is newer than this process.
        self.declines = False
        #: When the last request arrived, on the monotonic clock.
        self.last = time.monotonic()

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()

    def stop(self) -> None:
        """Stop accepting, and finish running requests."""
        self._wake.close()
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()
        self._woken.close()
        until = time.monotonic() + LEAVE_IN
        for _ in range(AT_ONCE):
            self._busy.acquire(timeout=max(0.0, until - time.monotonic()))

    def _accept(self) -> None:
        poll = select.poll()
        for one in (self._listener, self._woken):
            poll.register(one, select.POLLIN)
        while all(handle != self._woken.fileno() for handle, _ in poll.poll()):
            try:
                link, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue  # the hook is gone
            except OSError:
                time.sleep(_PAUSE)  # too many open files
                continue
            self.last = time.monotonic()
            self._answer(link)

    def _answer(self, link: socket.socket) -> None:
        if self.declines or not self._busy.acquire(blocking=False):
            link.close()
            return

        def answer() -> None:
            try:
                self._answers.answer(link)
            finally:
                link.close()
                self._busy.release()

        threading.Thread(target=answer, daemon=True).start()
