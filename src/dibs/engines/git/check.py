"""Inspection of a git engine."""

from __future__ import annotations

import os
import stat
import time

from dibs.core.text.findings import Finding, Level
from dibs.engines.git.errors import shown, too_slow
from dibs.engines.git.repo import EngineGit
from dibs.errors import DibsError
from dibs.git.run import TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.engines.git.connection import GitConnection

_DURABLE = Finding(Level.OK, "durability", "a confirmed change survives a power failure")
_FRAGILE = Finding(
    Level.WARN,
    "durability",
    "survives any process crash; a power failure can undo the newest changes"
    " (to prevent that, run `git config core.fsync all` in the remote repository)",
)
_OPEN = Finding(
    Level.WARN,
    "writers",
    "anyone with push access can change the branch without Dibs; Dibs detects this but cannot prevent it",
)


def inspect(link: GitConnection, timeout: float) -> list[Finding]:
    """Report what the remote guarantees."""
    place = link.remote.place
    return [
        Finding(Level.OK, "store", f"branch {place.branch} of {shown(place.url)}"),
        Finding(Level.OK, "reach", "every machine that can push to this branch"),
        Finding(
            Level.OK,
            "clock",
            "no shared clock: each machine measures time since the last change it saw",
        ),
        *_access(link, timeout),
        *_folder(link, timeout),
    ]


def _access(link: GitConnection, timeout: float) -> Iterator[Finding]:
    started = time.monotonic()
    try:
        commit = link.remote.look(started + timeout)
        took = (time.monotonic() - started) * 1000
        yield Finding(Level.OK, "round trip", f"{took:.0f} ms to read the branch head")
        if not commit:
            yield Finding(
                Level.OK, "push", "the branch does not exist yet; the first change creates it"
            )
        elif commit == link.cache.head().remote:
            link.show_git(started + timeout)
            link.remote.push(commit, commit, started + timeout, trial=True)
            yield Finding(Level.OK, "push", "this account has push access")
    except DibsError as error:
        yield Finding(Level.BAD, "access", error.message)


def _folder(link: GitConnection, timeout: float) -> Iterator[Finding]:
    folder = link.remote.place.git_dir
    if not folder:
        yield _OPEN
        return
    try:
        mode = os.stat(folder).st_mode
    except OSError:
        return
    others = mode & (stat.S_IWGRP | stat.S_IWOTH)
    text = (
        "other users can write to the repository folder"
        if others
        else "only the owner can write to the repository folder"
    )
    yield Finding(Level.WARN if others else Level.OK, "writers", text)
    durable = _setting(folder, "core.fsync", timeout) in ("all", "added,reference", "reference")
    yield _DURABLE if durable else _FRAGILE
    if _setting(folder, "receive.autogc", timeout) != "false":
        text = (
            "every push checks for garbage collection (`git config receive.autogc false` is faster)"
        )
        yield Finding(Level.OK, "speed", text)


def _setting(folder: str, name: str, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    try:
        result = EngineGit(folder).run_until(deadline, "config", "--get", name)
    except TimedOut:
        raise too_slow(folder) from None
    return result.out.decode("utf-8", "replace").strip()
