"""A configuration file that is changed now, and gets its old bytes back later."""

from __future__ import annotations

import json
import os

from dibs.local.files import write_file

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
    """Run ``act``, which changes ``config``; write down at ``memory`` how it was, and what else is known.

    ``before`` is how it was before an earlier change of ours.
    """
    was = _text(read(config)) if before is None else before
    record = {**known, "before": was, "after": ""}
    write(
        memory, json.dumps(record), mode=0o600
    )  # first: a kill in between leaves what to go back to
    act()
    write(memory, json.dumps({**record, "after": _text(read(config))}), mode=0o600)


def recall(memory: str) -> dict[str, Any] | None:
    """Return what was written down at ``memory``; None if nothing was."""
    try:
        found: dict[str, Any] = json.loads(read(memory))
    except ValueError:
        return None
    return found


def restore(config: str, record: Mapping[str, Any]) -> bool:
    """Give ``config`` its old bytes, unless somebody has changed it since; return whether that was done."""
    if read(config) != record["after"].encode("utf-8", "surrogateescape"):
        return False
    mode = os.stat(config).st_mode & 0o777
    lock = f"{config}.lock"  # git's own lock on this file
    handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(handle, "wb") as file:
        file.write(record["before"].encode("utf-8", "surrogateescape"))
    os.chmod(lock, mode)
    os.replace(lock, config)
    return True


def read(path: str) -> bytes:
    """Return the bytes of a file, none if it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def write(path: str, text: str, mode: int = 0o755) -> None:
    """Put a file in its place in one step; leave one that has the text already."""
    content = text.encode("utf-8", "surrogateescape")
    if read(path) == content and os.access(path, os.X_OK) == bool(mode & 0o100):
        return
    write_file(path, content, mode=mode)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
