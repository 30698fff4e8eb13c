"""Hand the sockets and the lock of a running server to a newer one, so that no call is refused.

The hooks' socket is an exception: a process that receives a listening socket could accept connections as if
it were the sender, so hooks trust only the process that opened it. The newer process opens its own.

The newer process connects to the control socket and receives them. Both then accept connections, until the
newer one reports that it does; the older one then finishes its calls and exits. If the newer one dies before
that, nothing has changed.
"""

from __future__ import annotations

import array
import json
import logging
import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.server.process.listeners import Listeners, draft

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.process.options import ServeOptions

#: Seconds that the older process may take to answer, and the newer one to begin.
ANSWER_IN, BEGIN_IN = 5.0, 60.0
#: The newer process says this once it accepts connections.
ACCEPTING = b"accepting"
_LONGEST = 1 << 16
log = logging.getLogger("dibs.server")


class Handover(NamedTuple):
    """What a newer process receives."""

    listeners: Listeners
    lock: int
    options: dict[str, Any]
    #: The path of the hooks' socket.
    hooks: str
    link: socket.socket

    def accept(self) -> None:
        """Tell the older process that this one accepts connections."""
        with suppress(OSError):  # the older one was killed meanwhile
            self.link.sendall(ACCEPTING)
        self.link.close()


def request_handover(control: str, hooks: str) -> Handover:
    """Receive the sockets and the lock of a running server; open a socket for hooks, unpublished.

    Raises ``OSError`` or ``ValueError`` if it does not answer.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(ANSWER_IN)
        link.connect(control)
        link.sendall(b"%d\n" % os.getpid())
        text, handles, _, _ = socket.recv_fds(link, _LONGEST, len(Listeners._fields) + 1)
        told = json.loads(text)  # nothing if it refuses, which is a ``ValueError``
        own = draft(hooks)
    except BaseException:
        link.close()
        raise
    passed = len(Listeners._fields) - 1
    for handle in handles[passed:-1]:
        os.close(handle)  # releases until 0.1 also pass the socket of hooks
    sockets = [*(socket.socket(fileno=handle) for handle in handles[:passed]), own]
    return Handover(Listeners(*sockets), handles[-1], told["options"], told["hooks"], link)


class Control:
    """Waits for a newer process, in a thread."""

    def __init__(
        self,
        listeners: Listeners,
        lock: int,
        options: ServeOptions,
        hooks: str,
        leave: Callable[[int], None],
    ) -> None:
        self._listeners = listeners
        self._lock = lock
        self._told = json.dumps({"options": options._asdict(), "hooks": hooks}).encode()
        #: Called with the newer process once it accepts connections.
        self._leave = leave

    def start(self) -> None:
        """Begin to wait."""
        self._listeners.control.settimeout(None)
        threading.Thread(target=self._wait, name="dibs-control", daemon=True).start()

    def _wait(self) -> None:
        while True:
            try:
                link, _ = self._listeners.control.accept()
            except OSError:
                return  # closed
            with link:
                process = self._hand_over(link)
            if process:
                self._leave(process)
                return

    def _hand_over(self, link: socket.socket) -> int:
        """Send everything; return the process that now accepts connections, 0 if it does not."""
        try:
            link.settimeout(ANSWER_IN)
            process = int(link.recv(20))
            handles = array.array("i", [one.fileno() for one in self._listeners[:-1]])
            handles.append(self._lock)
            socket.send_fds(link, [self._told], list(handles))
            link.settimeout(BEGIN_IN)
            return process if link.recv(20) == ACCEPTING else 0
        except (OSError, ValueError):
            return 0
