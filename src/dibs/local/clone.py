"""Which clone this is: on Redis and git engines many clones share one store, and each has its own refs."""

from __future__ import annotations

import contextlib
import os

_NAME = "clone"
_DIGITS = 16


def clone_id(state: str) -> str:
    """Return the id that is kept in the folder ``state``; the first who asks makes it."""
    path = os.path.join(state, _NAME)
    for _ in range(2):
        try:
            with open(path, encoding="ascii") as file:
                return file.read(_DIGITS)
        except FileNotFoundError:
            _make(path)
    with open(path, encoding="ascii") as file:
        return file.read(_DIGITS)


def _make(path: str) -> None:
    """Write an id under a name of its own first: whoever links it to the common name wins."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    own = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        handle = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="ascii") as file:
            file.write(os.urandom(_DIGITS // 2).hex())
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            os.link(own, path)
    finally:
        os.unlink(own)
