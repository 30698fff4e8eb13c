"""The sockets that a server listens on."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Misconfigured
from dibs.guard.agents.start import is_private, socket_of

if TYPE_CHECKING:
    from dibs.server.process.options import ServeOptions

#: How many connections may wait to be accepted.
BACKLOG = 512


class Listeners(NamedTuple):
    """All sockets of a server."""

    tcp: socket.socket
    #: HTTP over a Unix socket: the peer's process identifies the caller.
    http: socket.socket
    #: Where hooks ask, with the raw protocol of ``guard.agents.client``.
    hooks: socket.socket

    def close(self) -> None:
        """Close the sockets."""
        for one in self:
            one.close()


def listen(options: ServeOptions, hooks: str) -> Listeners:
    """Open all sockets; that of hooks has its own path."""
    opened = [tcp(options)]
    try:
        for path in (socket_path(options.folder), hooks):
            opened.append(unix(path))  # noqa: PERF401 - each is closed if the next fails
    except OSError:
        for one in opened:
            one.close()
        raise
    return Listeners(*opened)


def unlink(folder: str, hooks: str) -> None:
    """Remove the files of the Unix sockets."""
    for path in (socket_path(folder), hooks):
        with suppress(OSError):
            os.unlink(path)


def socket_path(folder: str) -> str:
    """Return the path of a server's socket for HTTP: short, in the folder of the hooks' socket."""
    base = os.path.dirname(socket_of(""))
    private_folder(base)
    return f"{base}/{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}.http"


def private_folder(path: str) -> None:
    """Create the sockets' folder if needed; refuse one that other users can access."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not is_private(path):
        raise Misconfigured(
            f"other users can access {path}",
            code="DAEMON_FOLDER",
            hint=f"if it is yours, run: chmod 700 {path}",
        )


def unix(path: str) -> socket.socket:
    """Listen on a Unix socket, which replaces one that a killed process left behind."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = f"{path}.{os.getpid()}"
    try:
        listener.bind(draft)
        os.chmod(draft, 0o600)
        listener.listen(BACKLOG)
        os.replace(draft, path)  # it appears only once it is listening
    except OSError:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a TCP socket."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def tcp(options: ServeOptions) -> socket.socket:
    """Listen for HTTP over TCP."""
    try:
        return _bound(options.host, options.port)
    except OSError as error:
        if options.auto and error.errno == errno.EADDRINUSE:
            return _bound(options.host, 0)
        raise Misconfigured(
            f"cannot listen on {options.host}:{options.port}: {error.strerror or error}",
            code="LISTEN",
            hint="use another --host or --port (0 for any free port)",
        ) from error


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the socket's protocol is TCP explicitly.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
