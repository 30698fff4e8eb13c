"""Find the process behind a connection from this machine."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from dibs.local.processes import RunningProcess, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable

    Address = tuple[str, int]

#: The columns of a socket in /proc/net/tcp: its two addresses, its user, and its inode.
_LOCAL, _REMOTE, _USER, _INODE = 1, 2, 7, 9


def owner_of(
    client: Address | None, server: Address | None, candidates: Iterable[tuple[int, int]]
) -> RunningProcess | None:
    """Return which of some processes (number and start) has the client's end of a TCP connection."""
    inode = _inode(client, server) if client and server else ""
    if not inode:
        return None
    name = f"socket:[{inode}]"
    for pid, born in candidates:
        if _has(pid, name) and is_there(pid, born):
            return RunningProcess(pid, born)
    return None


def _inode(client: Address, server: Address) -> str:
    """Return the inode of the client's socket if it belongs to this user; empty if it is not found."""
    user = str(os.geteuid())
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            ends = _hex(client, file), _hex(server, file)
            with open(file, encoding="ascii") as table:
                for line in table:
                    row = line.split()
                    if (row[_LOCAL], row[_REMOTE]) == ends and row[_USER] == user:
                        return row[_INODE]
        except (OSError, ValueError):
            continue
    return ""


def _hex(address: Address, file: str) -> str:
    """Return an address as the kernel's table shows it: words of four bytes, in the machine's order."""
    host, port = address[0], address[1]
    if ":" in host:
        packed = socket.inet_pton(socket.AF_INET6, host)
    else:
        packed = socket.inet_pton(socket.AF_INET, host)
        if file.endswith("6"):
            packed = bytes(10) + b"\xff\xff" + packed
    words = [packed[place : place + 4] for place in range(0, len(packed), 4)]

    shown = "".join((word[::-1] if sys.byteorder == "little" else word).hex() for word in words)
    return f"{shown.upper()}:{port:04X}"


def _has(pid: int, name: str) -> bool:
    """Return whether a process has a file open."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(_link(f"{folder}/{handle}") == name for handle in os.listdir(folder))
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
