"""Whether the ports that a worktree gets are free here: programs that Dibs knows nothing of have some."""

from __future__ import annotations

import errno
import socket


def ports_in_use(first: int, count: int) -> list[int]:
    """Return those of ``count`` ports from ``first`` on that a program listens on."""
    return [port for port in range(first, first + count) if _is_in_use(port)]


def _is_in_use(port: int) -> bool:
    with socket.socket() as probe:
        # Without this, a port whose last user has just gone would count too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:  # a port that only root may use is no other program's
            return error.errno == errno.EADDRINUSE
    return False
