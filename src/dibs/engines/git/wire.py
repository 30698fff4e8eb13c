"""The few words of git's own protocol that a push to a repository of this machine needs."""

from __future__ import annotations

import os
import select
import subprocess
import time

_HEADER = 4


class OtherHash(Exception):
    """The repository does not name its objects as we do."""


def advertised(
    process: subprocess.Popen[bytes], ref: str, size_of_name: int, deadline: float
) -> str | None:
    """Read what a ``receive-pack`` has; return where ``ref`` is, empty if nowhere, None if it failed."""
    assert process.stdout is not None
    handle, data, at, found = process.stdout.fileno(), b"", 0, ""
    while True:
        while len(data) >= at + _HEADER:
            size = int(data[at : at + _HEADER], 16)
            if size == 0:
                return found
            if len(data) < at + size:
                break
            line = data[at + _HEADER : at + size].split(b"\0")[0].decode("utf-8", "replace")
            oid, _, name = line.strip().partition(" ")
            if name and len(oid) != size_of_name:
                raise OtherHash
            if name == ref:
                found = oid
            at += size
        came = more(handle, deadline)
        if not came:
            return None
        data += came


def more(handle: int, deadline: float) -> bytes:
    """Return what comes next out of a pipe, nothing at its end; ``TimeoutExpired`` at ``deadline``."""
    left = deadline - time.monotonic()
    if left <= 0 or not select.select([handle], [], [], left)[0]:
        raise subprocess.TimeoutExpired("git", 0)
    return os.read(handle, 65536)


def order(old: str, new: str, ref: str) -> bytes:
    """Return the command that moves ``ref``; the pack follows it."""
    wanted = "report-status" + (" object-format=sha256" if len(new) > 40 else "")  # noqa: PLR2004
    line = f"{old} {new} {ref}\0{wanted}".encode()
    return b"%04x%s0000" % (len(line) + _HEADER, line)


def report(data: bytes, ref: str) -> bytes:
    """Return what ``receive-pack`` says of ``ref``, in the words of ``git push --porcelain``."""
    at = 0
    while at + _HEADER <= len(data):
        size = int(data[at : at + _HEADER], 16)
        if size == 0:
            break
        line = data[at + _HEADER : at + size].decode("utf-8", "replace").strip()
        at += size
        if line == f"ok {ref}":
            return b"ok " + ref.encode()
        if line.startswith(f"ng {ref} "):
            return f"!\t\t[remote rejected] ({line[len(ref) + 4 :]})".encode()
    return b""
