"""Find a program that listens on the server's socket and is not the server."""

from __future__ import annotations

import os
import socket
import struct
import sys

import dibs
from dibs.core.text.findings import Finding, Level
from dibs.core.text.names import printable
from dibs.guard.agents.client import HEARD_IN, is_our_server
from dibs.guard.agents.start import is_private, socket_of
from dibs.local.processes import running


def foreign_listener() -> list[Finding]:
    """Return a finding if another program than the server listens on the hooks' socket.

    On other systems than Linux, hooks never ask a server.
    """
    package = os.path.dirname(os.path.abspath(str(dibs.__file__)))
    path = socket_of(package)
    if not sys.platform.startswith("linux") or not is_private(os.path.dirname(path)):
        return []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(HEARD_IN)
        try:
            link.connect(path)
        except OSError:
            return []  # no process listens
        if is_our_server(link, package):
            return []
        told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid = struct.unpack("3i", told)[0]
    found = running(pid)
    who = printable(str(found)) if found else "a program that this user cannot see"
    end = f"kill {pid}; " if found else ""
    text = (
        f"{who} listens on the server's socket and is not this installation's server, so hooks ignore it "
        f"(to remove it: `{end}rm {printable(path)}`)"
    )
    return [Finding(Level.WARN, "listener", text)]
