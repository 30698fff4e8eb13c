"""Read HEAD and branches without a git process."""

# On the path of hooks: import only built-in modules.

from __future__ import annotations

import os

from dibs.local.files import read_file, regular
from dibs.local.repository import checked_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OBJECT_NAMES = (40, 64)
#: The end of a log that is read, in bytes, and the most branches in one folder.
_LOG_LINE, _MOST = 4096, 200


def head_commit(root: str, common: str) -> str:
    """Return the commit checked out in a working tree; empty if there is none, or only git knows it."""
    head = checked_out(root)
    try:
        return _tip(common, head) if head.startswith("refs/") else _name(os.fsencode(head))
    except OSError:
        return ""


def _tip(common: str, ref: str) -> str:
    try:
        return _name(read_file(f"{common}/{ref}").strip())
    except FileNotFoundError:
        pass
    for line in read_file(f"{common}/packed-refs").split(b"\n"):
        name, _, packed = line.partition(b" ")
        if packed == os.fsencode(ref):
            return _name(name)
    return ""


def _name(text: bytes) -> str:
    plain = len(text) in _OBJECT_NAMES and text.isalnum()
    return text.decode() if plain else ""


def unlogged_branches(common: str) -> Iterator[str]:
    """Yield the files of branches that git did not write: the log of the branch ends at another commit."""
    logs = f"{common}/logs/refs/heads"
    folders = [logs]
    while folders:
        folder = folders.pop()
        for name in _names(folder):
            log = f"{folder}/{name}"
            ref = f"{common}/refs/heads{log[len(logs) :]}"
            try:
                if os.path.isdir(log):
                    folders.append(log)
                elif os.stat(ref).st_mtime_ns >= os.stat(log).st_mtime_ns:
                    # Git prepares the file before it writes the log, so the file is seldom newer.
                    logged = last_logged(log)
                    if logged and _name(read_file(ref).strip()) != logged:
                        yield ref
            except OSError:
                continue  # packed, or removed in the meantime


def last_logged(log: str) -> str:
    """Return the commit at which git's log of a branch ends; empty if the log is empty."""
    with open(log, "rb", opener=regular) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_LINE))
        lines = file.read().split(b"\n")
    words = lines[-2].split(b" ", 2) if len(lines) > 1 else []
    return _name(words[1]) if len(words) > 1 else ""


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)[:_MOST]
    except OSError:
        return []
