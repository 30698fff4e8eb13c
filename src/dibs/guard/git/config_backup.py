"""Change a git configuration file, and restore its original bytes later."""

from __future__ import annotations

import json
import os

from dibs.local.files import read_or_empty, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def change(
    config: str,
    memory: str,
    act: Callable[[], None],
    known: Mapping[str, Any],
    *,
    before: str | None = None,
) -> None:
    """Run ``act``, which changes ``config``; save the original and ``known`` in the file ``memory``.

    ``before`` is the original content if we have changed the file before.
    """
    was = _text(read_or_empty(config)) if before is None else before
    record = {**known, "before": was, "after": ""}
    write(memory, json.dumps(record), mode=0o600)  # first, so that a kill loses nothing
    act()
    write(memory, json.dumps({**record, "after": _text(read_or_empty(config))}), mode=0o600)


def recall(memory: str) -> dict[str, Any] | None:
    """Return what ``change`` saved in the file ``memory``, or None."""
    try:
        found: dict[str, Any] = json.loads(read_or_empty(memory))
    except ValueError:
        return None
    return found


def restore(config: str, record: Mapping[str, Any]) -> bool:
    """Restore the original bytes of ``config``; return False if it has changed since ``change``."""
    if read_or_empty(config) != record["after"].encode("utf-8", "surrogateescape"):
        return False
    mode = os.stat(config).st_mode & 0o777
    lock = f"{config}.lock"  # git's own lock on this file
    handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(handle, "wb") as file:
        file.write(record["before"].encode("utf-8", "surrogateescape"))
    os.chmod(lock, mode)
    os.replace(lock, config)
    return True


def write(path: str, text: str, mode: int = 0o755) -> None:
    """Write a file atomically, unless it already has this text and mode."""
    content = text.encode("utf-8", "surrogateescape")
    if read_or_empty(path) == content and os.access(path, os.X_OK) == bool(mode & 0o100):
        return
    write_file(path, content, mode=mode)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
